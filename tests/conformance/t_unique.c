#include "conf.h"
const struct promise unique_promises[] = {{NULL, NULL}};
