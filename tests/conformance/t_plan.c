#include "conf.h"
const struct promise plan_promises[] = {{NULL, NULL}};
