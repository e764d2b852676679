/* SPDX-License-Identifier: BSD-2-Clause */
/* The SMA's attributes (IBA 14.2.5), one function each, and what they share. Private to agents/.
 *
 * Each answers in place: `data` are the 64 data bytes of an SMP, which hold the wanted values on a
 * Set and the values in force on return. The result is the MAD's status. A Set that is refused has
 * changed nothing. `changed` gets the number of bytes of the table that are no longer what they
 * were. Ports, blocks and positions in the modifier are checked here. */
#ifndef SIM_AGENTS_ATTRIBUTES_H
#define SIM_AGENTS_ATTRIBUTES_H

#include "sim/agents/agent.h"

/* Offsets in a MAD and an SMP (IBA 13.4.2, 14.2.1) */
enum {
    SIM_MAD_CLASS = 1,
    SIM_MAD_CLASS_VERSION = 2,
    SIM_MAD_METHOD = 3,
    SIM_MAD_STATUS = 4,
    SIM_MAD_ATTRIBUTE = 16,
    SIM_MAD_MODIFIER = 20,
    SIM_SMP_MKEY = 24,
    SIM_SMP_DATA = 64,
};
#define SIM_SMP_DATA_BYTES 64u

enum { SIM_CLASS_SMP_LID = 0x01, SIM_CLASS_SMP_DIRECTED = 0x81, SIM_CLASS_PERF = 0x04 };

enum {
    SIM_METHOD_GET = 0x01,
    SIM_METHOD_SET = 0x02,
    SIM_METHOD_TRAP = 0x05,
    SIM_METHOD_TRAP_REPRESS = 0x07,
    SIM_METHOD_RESPONSE = 0x80, /* the R bit */
    SIM_METHOD_GET_RESP = 0x81,
};

enum {
    SIM_ATTR_NOTICE = 0x02,
    SIM_ATTR_NODE_DESCRIPTION = 0x10,
    SIM_ATTR_NODE_INFO = 0x11,
    SIM_ATTR_SWITCH_INFO = 0x12,
    SIM_ATTR_GUID_INFO = 0x14,
    SIM_ATTR_PORT_INFO = 0x15,
    SIM_ATTR_PKEY_TABLE = 0x16,
    SIM_ATTR_SL2VL = 0x17,
    SIM_ATTR_VLARB = 0x18,
    SIM_ATTR_LFT = 0x19,
    SIM_ATTR_MFT = 0x1b,
    SIM_ATTR_SM_INFO = 0x20,
    SIM_ATTR_EXTENDED_PORT_INFO = 0xff90, /* Mellanox: FDR10 */
};

enum { /* IBA 13.4.7 */
       SIM_STATUS_OK = 0,
       SIM_STATUS_BAD_VERSION = 0x04,
       SIM_STATUS_BAD_METHOD = 0x08,
       SIM_STATUS_BAD_ATTRIBUTE = 0x0c,
       SIM_STATUS_BAD_VALUE = 0x1c,
};

/* Copies a table's bytes from an SMP and counts those that change. */
unsigned sim_replace(uint8_t *table, const uint8_t *wanted, size_t bytes);
/* Whether the SMP's key is that of the port, or the port has none. */
bool sim_mkey_matches(const struct sim_port *end, const struct sim_packet *p);

uint16_t sim_sma_node_description(struct sim *s, uint32_t node, bool set, uint8_t data[64]);
uint16_t sim_sma_switch_info(struct sim *s, uint32_t node, bool set, uint8_t data[64],
                             unsigned *changed);
uint16_t sim_sma_guid_info(struct sim *s, uint32_t node, unsigned port, bool set, uint32_t modifier,
                           uint8_t data[64], unsigned *changed);
uint16_t sim_sma_pkey_table(struct sim *s, uint32_t node, unsigned port, bool set,
                            uint32_t modifier, uint8_t data[64], unsigned *changed);
uint16_t sim_sma_sl2vl(struct sim *s, uint32_t node, unsigned port, bool set, uint32_t modifier,
                       uint8_t data[64], unsigned *changed);
uint16_t sim_sma_vlarb(struct sim *s, uint32_t node, unsigned port, bool set, uint32_t modifier,
                       uint8_t data[64], unsigned *changed);
uint16_t sim_sma_lft(struct sim *s, uint32_t node, bool set, uint32_t modifier, uint8_t data[64],
                     unsigned *changed);
uint16_t sim_sma_mft(struct sim *s, uint32_t node, bool set, uint32_t modifier, uint8_t data[64],
                     unsigned *changed);
uint16_t sim_sma_extended_port_info(struct sim *s, uint32_t node, unsigned port, bool set,
                                    uint32_t modifier, uint8_t data[64], unsigned *changed);

#endif
