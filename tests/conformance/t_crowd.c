#include "conf.h"
const struct promise crowd_promises[] = {{NULL, NULL}};
