/* SPDX-License-Identifier: MIT
 *
 * driver.c - which client library speaks to a database URL: the only place that knows them all.
 */
#include <string.h>

#include <tribunal/queue_sqlite.h>
#ifdef WITH_POSTGRES
#include <tribunal/queue_pg.h>
#endif
#ifdef WITH_MYSQL
#include <tribunal/queue_mysql.h>
#endif

#include "store/store.h"

const struct tq_driver *tr_store_driver(const char *url, struct tr_err *err)
{
    if (!strncmp(url, "sqlite:", 7))
        return tq_sqlite_driver();
#ifdef WITH_POSTGRES
    if (!strncmp(url, "postgres://", 11) || !strncmp(url, "postgresql://", 13))
        return tq_pg_driver();
#endif
#ifdef WITH_MYSQL
    if (!strncmp(url, "mysql://", 8) || !strncmp(url, "mariadb://", 10))
        return tq_mysql_driver();
#endif
    (void)tr_fail(err, TR_E_USAGE, 0,
                  "a database URL begins with sqlite:, postgres:// or mysql:// (as far as this "
                  "build has them)");
    return NULL;
}
