#include "conf.h"
const struct promise input_promises[] = {{NULL, NULL}};
