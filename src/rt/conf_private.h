/* SPDX-License-Identifier: MIT
 *
 * rt/conf_private.h - how a setting is spelled in the file and in the environment.
 */
#ifndef RT_CONF_PRIVATE_H
#define RT_CONF_PRIVATE_H

enum {
    TR_CONF_KEY_MAX = 64,
    TR_CONF_ENV_MAX = TR_CONF_KEY_MAX + 16
};

void tr_conf_key(const char *name, char out[static TR_CONF_KEY_MAX]);
void tr_conf_env(const char *name, char out[static TR_CONF_ENV_MAX]);

#endif
