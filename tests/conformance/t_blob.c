#include "conf.h"
const struct promise blob_promises[] = {{NULL, NULL}};
