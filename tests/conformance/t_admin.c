#include "conf.h"
const struct promise admin_promises[] = {{NULL, NULL}};
