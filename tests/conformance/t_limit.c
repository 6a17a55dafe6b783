#include "conf.h"
const struct promise limit_promises[] = {{NULL, NULL}};
