#include "conf.h"
const struct promise crash_promises[] = {{NULL, NULL}};
