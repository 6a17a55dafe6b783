#include "conf.h"
const struct promise lease_promises[] = {{NULL, NULL}};
