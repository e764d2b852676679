/* SPDX-License-Identifier: BSD-2-Clause */
/* The management agents of a node: SMA (IBA 14) and PMA (IBA 16.1), and what they send by
 * themselves. Private to sim/. */
#ifndef SIM_AGENTS_AGENT_H
#define SIM_AGENTS_AGENT_H

#include "sim/core/model.h"
#include "sim/core/transit.h"

enum sim_verdict {
    SIM_REPLY,   /* the packet holds the answer (GetResp, addresses not yet turned round) */
    SIM_SILENCE, /* nothing goes back: wrong M_Key, TrapRepress, malformed */
    SIM_FORWARD, /* not for agents: a process at this port may take it */
};

/* A MAD arrived at its destination, by `port` (the port it came in; 0 = inside a switch). Changes
 * p->mad into the answer. QP 0: SMA; QP 1: PMA, for its class. */
enum sim_verdict sim_agent(struct sim *s, uint32_t node, unsigned port, enum sim_kind kind,
                       struct sim_packet *p);

/* Turns a request into GetResp with this status (IBA 13.4.7); directed ones get the D bit. */
void sim_mad_answer(uint8_t *mad, uint16_t status);

/* -- M_Key (mkey.c): IBA 14.2.4 -- */
/* Whether the SMP may do what it asks at this node; counts violations, runs the lease, raises trap
 * 256 when not. */
bool sim_mkey_allows(struct sim *s, uint32_t node, unsigned port, const struct sim_packet *p);

/* -- states of links (link.c) -- */
/* Looks at both ends and the cable of this port again, and brings the link up (INIT, after
 * train_ms) or down where that changed: power, cables, disabled ports. Raises PortStateChange, trap
 * 128 and what hosts see. Call it after any such change. */
void sim_link_update(struct sim *s, uint32_t node, unsigned port);
/* The link goes down now and trains again (a flap). */
void sim_link_bounce(struct sim *s, uint32_t node, unsigned port);
/* Whether packets may pass: VL15 from INIT on, others when both ends are ACTIVE (an ARMED end
 * becomes ACTIVE by the first one). */
bool sim_link_carries(struct sim *s, uint32_t node, unsigned port, bool vl15);

/* -- notices and traps (trap.c): IBA 13.4.8, 14.2.5.1 -- */
/* Trap 128..131, 144, 145, 256..259 of this port's node, sent to MasterSMLID (nowhere while that is
 * 0) and repeated each TRAP interval until repressed. The details are the notice's 54 bytes. */
void sim_trap(struct sim *s, uint32_t node, unsigned port, unsigned number,
              const uint8_t details[54]);
void sim_trap_link_state(struct sim *s, uint32_t node);                /* 128 */
void sim_trap_threshold(struct sim *s, uint32_t node, unsigned port, unsigned number); /* 129-131 */
void sim_trap_capability(struct sim *s, uint32_t node, unsigned port); /* 144: capability mask */
void sim_trap_description(struct sim *s, uint32_t node, unsigned port); /* 144: NodeDescription */
void sim_trap_system_guid(struct sim *s, uint32_t node, unsigned port); /* 145 */
void sim_trap_mkey(struct sim *s, uint32_t node, unsigned port, const struct sim_packet *p); /* 256 */
/* 257 (P_Key), 258 (Q_Key) at an end port, 259 (P_Key at a switch's external port) */
void sim_trap_key(struct sim *s, uint32_t node, unsigned port, unsigned number,
                  const struct sim_packet *p);
/* A TrapRepress whose key was right arrived: stops the repetition of that trap. */
void sim_trap_repressed(struct sim *s, uint32_t node, unsigned port, const struct sim_packet *p);
void sim_traps_forget(struct sim *s, uint32_t node); /* power-off */
void sim_traps_free(struct sim_port *p);

/* -- attributes, one file each; all of them: answers in place in the SMP's 64 data bytes, returns
 * the status -- */
uint16_t sim_sma_node_info(struct sim *s, uint32_t node, unsigned port, bool set, uint32_t modifier,
                       uint8_t data[64]);
uint16_t sim_sma_port_info(struct sim *s, uint32_t node, unsigned port, bool set, uint32_t modifier,
                       uint8_t data[64], bool key_matches);
/* The notice queue of the port; 0x000C where the capability mask lacks IsNoticeSupported. */
uint16_t sim_sma_notice(struct sim *s, uint32_t node, unsigned port, bool set, uint32_t modifier,
                        uint8_t data[64]);
/* Ends what the PMA samples, and gives its memory back: power-off, the end. */
void sim_samples_forget(struct sim *s, uint32_t node);
/* The PMA's part: class 4. The data start at byte 64 of the MAD. */
enum sim_verdict sim_pma(struct sim *s, uint32_t node, unsigned port, struct sim_packet *p);

#endif
