/* SPDX-License-Identifier: BSD-2-Clause */
/* Names of the counters that the PMA shows. */
#ifndef SIM_AGENTS_PMA_H
#define SIM_AGENTS_PMA_H

#include "sim/core/model.h"

/* The specification's names: SymbolErrorCounter, PortXmitData ...; found in any case. */
bool sim_counter_by_name(const char *name, enum sim_counter *c);
const char *sim_counter_name(enum sim_counter c);

#endif
