/* SPDX-License-Identifier: BSD-2-Clause */
/* Samples of counters over a time: what the PMA's PortSamples attributes need. */
#ifndef SIM_AGENTS_PMA_SAMPLES_H
#define SIM_AGENTS_PMA_SAMPLES_H

#include "sim/core/model.h"

/* Both answer in place in the MAD's data. A Set starts a sample, unless one goes on. */
uint16_t sim_samples_control(struct sim *s, uint32_t node, unsigned port, bool set, uint8_t *data);
uint16_t sim_samples_result(struct sim *s, uint32_t node, unsigned port, bool set, uint8_t *data);

#endif
