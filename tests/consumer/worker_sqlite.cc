// The same program, compiled as C++: the headers are clean in both.
#include "worker_sqlite.c"
