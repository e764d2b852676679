/* SPDX-License-Identifier: BSD-2-Clause */
/* Weak, empty definitions of what is not written yet, so that parts link on their own. Removed
 * when the last part is in. */
#include "sim/agents/agent.h"
#include "sim/core/ping.h"
#include "sim/core/timers.h"
#include "sim/faults/fault.h"
#include "sim/hosts/host.h"
#include "sim/judge/judge.h"
#include "sim/script/script.h"

#define W __attribute__((weak))
W struct sim_timers *sim_timers_create(void) { return NULL; }
W void sim_timers_destroy(struct sim_timers *t) {}
W struct sim_timer *sim_timer_at(struct sim *s, int64_t at, sim_timer_fn *fn, void *arg) { return NULL; }
W void sim_timer_cancel(struct sim *s, struct sim_timer *timer) {}
W int64_t sim_timers_next(const struct sim_timers *t) { return SIM_NEVER; }
W void sim_timers_run(struct sim *s, int64_t now) { s->now = now; }
W struct sim_flights *sim_flights_create(void) { return NULL; }
W void sim_flights_destroy(struct sim_flights *f) {}
W void sim_transit_send(struct sim *s, uint32_t node, unsigned port, enum sim_kind kind, const struct sim_packet *p) {}
W unsigned sim_transit_count(const struct sim *s) { return 0; }
W void sim_transit_lose_node(struct sim *s, uint32_t node) {}
W void sim_drop(struct sim *s, enum sim_kind kind, const struct sim_packet *p, enum sim_drop why, uint32_t node, unsigned port) { s->drops[why]++; }
W const char *sim_drop_name(enum sim_drop why) { return "?"; }
W struct sim_pings *sim_pings_create(void) { return NULL; }
W void sim_pings_destroy(struct sim_pings *p) {}
W unsigned sim_ping_start(struct sim *s, const struct sim_ping_spec *spec, char *error, size_t size) { return 0; }
W bool sim_ping_stop(struct sim *s, unsigned stream) { return false; }
W bool sim_ping_result(const struct sim *s, unsigned stream, struct sim_ping_result *r) { return false; }
W unsigned sim_ping_count(const struct sim *s) { return 0; }
W void sim_ping_losses(const struct sim *s, unsigned stream, GString *out) {}
W void sim_ping_arrived(struct sim *s, uint32_t node, unsigned port, const struct sim_packet *p) {}
W void sim_ping_dropped(struct sim *s, const struct sim_packet *p, enum sim_drop why, uint32_t node, unsigned port) {}
W enum sim_verdict sim_agent(struct sim *s, uint32_t node, unsigned port, enum sim_kind kind, struct sim_packet *p) { return SIM_SILENCE; }
W void sim_mad_answer(uint8_t *mad, uint16_t status) {}
W bool sim_mkey_allows(struct sim *s, uint32_t node, unsigned port, const struct sim_packet *p) { return true; }
W void sim_link_update(struct sim *s, uint32_t node, unsigned port) {}
W void sim_link_bounce(struct sim *s, uint32_t node, unsigned port) {}
W bool sim_link_carries(struct sim *s, uint32_t node, unsigned port, bool vl15) { return true; }
W void sim_trap(struct sim *s, uint32_t node, unsigned port, unsigned number, const uint8_t details[54]) {}
W void sim_trap_link_state(struct sim *s, uint32_t node) {}
W void sim_trap_threshold(struct sim *s, uint32_t node, unsigned port, unsigned number) {}
W void sim_trap_capability(struct sim *s, uint32_t node, unsigned port) {}
W void sim_trap_description(struct sim *s, uint32_t node, unsigned port) {}
W void sim_trap_system_guid(struct sim *s, uint32_t node, unsigned port) {}
W void sim_trap_mkey(struct sim *s, uint32_t node, unsigned port, const struct sim_packet *p) {}
W void sim_trap_key(struct sim *s, uint32_t node, unsigned port, unsigned number, const struct sim_packet *p) {}
W void sim_trap_repressed(struct sim *s, uint32_t node, unsigned port, const struct sim_packet *p) {}
W void sim_traps_forget(struct sim *s, uint32_t node) {}
W void sim_traps_free(struct sim_port *p) {}
W enum sim_verdict sim_pma(struct sim *s, uint32_t node, unsigned port, struct sim_packet *p) { return SIM_FORWARD; }
W struct sim_judge *sim_judge_create(void) { return NULL; }
W void sim_judge_destroy(struct sim_judge *j) {}
W int sim_judge_log(struct sim *s, const char *path) { return 0; }
W void sim_judge_flush(struct sim *s) {}
W void sim_judge_set(struct sim *s, const struct sim_judged *j) {}
W bool sim_judge_wanted(const struct sim *s) { return false; }
W void sim_judge_snapshot(struct sim *s, const char *name) {}
W bool sim_judge_forget(struct sim *s, const char *name) { return false; }
W bool sim_judge_compare(struct sim *s, const char *a, const char *b, unsigned limit, GString *out) { return false; }
W void sim_judge_dump(struct sim *s, uint32_t node, FILE *out) {}
W void sim_judge_totals(const struct sim *s, GString *out) {}
W struct sim_hosts *sim_hosts_create(void) { return NULL; }
W void sim_hosts_destroy(struct sim_hosts *h) {}
W void sim_hosts_start(struct sim *s, uint32_t node, const struct sim_host_spec *spec) {}
W void sim_hosts_stop(struct sim *s, uint32_t node) {}
W void sim_host_process(struct sim *s, uint32_t node, bool runs) {}
W void sim_host_event(struct sim *s, uint32_t node, unsigned port, enum sim_host_event e) {}
W bool sim_host_receive(struct sim *s, uint32_t node, unsigned port, const struct sim_packet *p) { return false; }
W void sim_hosts_status(struct sim *s, uint32_t node, GString *out) {}
W void sim_host_free(struct sim_host *h) {}
W struct sim_faults *sim_faults_create(void) { return NULL; }
W void sim_faults_destroy(struct sim_faults *f) {}
W bool sim_fault_cable(struct sim *s, uint32_t node, unsigned port, bool plugged, char *error, size_t size) { return true; }
W bool sim_fault_move(struct sim *s, uint32_t node, unsigned port, uint32_t to_node, unsigned to_port, char *error, size_t size) { return true; }
W void sim_fault_power(struct sim *s, uint32_t node, bool on) {}
W void sim_fault_reboot(struct sim *s, uint32_t node, int64_t off_ns) {}
W void sim_fault_mute(struct sim *s, uint32_t node, unsigned port, bool mute) {}
W void sim_fault_flap(struct sim *s, uint32_t node, unsigned port, unsigned count, int64_t down_ns, int64_t up_ns) {}
W void sim_fault_guid(struct sim *s, uint32_t node, uint64_t guid) {}
W unsigned sim_fault_cut(struct sim *s, const uint32_t *nodes, unsigned count) { return 0; }
W unsigned sim_fault_heal(struct sim *s) { return 0; }
W unsigned sim_fault_leave(struct sim *s, unsigned count) { return 0; }
W unsigned sim_fault_join(struct sim *s) { return 0; }
W void sim_fault_disturb(struct sim *s, uint32_t node, unsigned port, const struct sim_disturbance *d) {}
W void sim_fault_service(struct sim *s, uint32_t node, unsigned type, int64_t service_ns, uint32_t vl15_size) {}
W void sim_fault_random(struct sim *s, double rate) {}
W struct sim_script *sim_script_create(void) { return NULL; }
W void sim_script_destroy(struct sim_script *c) {}
W void sim_script_extend(struct sim *s, sim_script_more *more, void *user) {}
W bool sim_script_line(struct sim *s, const char *line, int64_t now, GString *out) { return true; }
W bool sim_script_start(struct sim *s, const char *path, int64_t now, GString *out) { return true; }
W bool sim_script_check(struct sim *s, const char *line, GString *out) { return true; }
W struct sim *sim_create(const struct fabric *f, const struct sim_config *config, const struct sim_hooks *hooks, int64_t now) { return NULL; }
W void sim_destroy(struct sim *s) {}
W void sim_send(struct sim *s, uint32_t node, unsigned port, const struct sim_packet *p, int64_t now) {}
W void sim_run(struct sim *s, int64_t now) {}
W int64_t sim_next(const struct sim *s) { return SIM_NEVER; }
W bool sim_find_port(const struct sim *s, const char *text, uint32_t *node, unsigned *port, char *error, size_t error_size) { return false; }
W void sim_set_issm(struct sim *s, uint32_t node, unsigned port, bool issm, int64_t now) {}
W void sim_get_port_info(const struct sim *s, uint32_t node, unsigned port, uint8_t info[64]) {}
W void sim_get_node_info(const struct sim *s, uint32_t node, unsigned port, uint8_t info[64]) {}
W void sim_get_pkeys(const struct sim *s, uint32_t node, unsigned port, uint16_t pkeys[32]) {}
W bool sim_has_power(const struct sim *s, uint32_t node) { return true; }
W void sim_node_reset(struct sim *s, uint32_t node) {}
W unsigned sim_pkey_capacity(const struct sim *s, uint32_t node, unsigned port) { return 0; }
W uint16_t sim_pkey(const struct sim *s, uint32_t node, unsigned port, unsigned index) { return 0; }
W uint8_t sim_lft(const struct sim *s, uint32_t node, unsigned lid) { return SIM_NO_PORT; }
W void sim_mft(const struct sim *s, uint32_t node, unsigned mlid, uint64_t out[4]) {}
W void sim_count(struct sim *s, uint32_t node, unsigned port, enum sim_counter counter, uint64_t n) {}
W const char *sim_port_name(const struct sim *s, uint32_t node, unsigned port) { return ""; }
W void sim_note(struct sim *s, const char *format, ...) {}
