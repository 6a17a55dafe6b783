#include "conf.h"
const struct promise schema_promises[] = {{NULL, NULL}};
