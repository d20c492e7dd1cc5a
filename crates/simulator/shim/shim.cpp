// A Verilated model behind a few functions.

#include "shim.h"

#include <cstring>
#include <type_traits>

#include "Model.h"
#include "verilated.h"
#ifdef HONEYCOMB_TRACE
#include "verilated_fst_c.h"
#endif

static_assert(sizeof(Inputs) == 4 * 64 + 34 * 8, "src/model.rs has the same struct");
static_assert(sizeof(Outputs) == 3 * 64 + 43 * 8, "src/model.rs has the same struct");

using Events = std::remove_reference_t<decltype(Model::events_o)>;

// A context for a model. One that may write a waveform has to be told before.
static VerilatedContext* prepared(VerilatedContext& context) {
#ifdef HONEYCOMB_TRACE
  context.traceEverOn(true);
#endif
  return &context;
}

struct Simulation {
  VerilatedContext context;
  Model model{prepared(context)};
  Events events;
  uint64_t half_cycle = 1;
#ifdef HONEYCOMB_TRACE
  VerilatedFstC trace;
#endif

  void eval() {
    model.eval();
#ifdef HONEYCOMB_TRACE
    if (trace.isOpen()) trace.dump(context.time());
#endif
  }
};

static void apply(Model& model, int port, const DramInputs& in) {
  std::memcpy(model.dram_rdata_i[port].data(), in.rdata, sizeof in.rdata);
  model.dram_arready_i[port] = in.arready;
  model.dram_rvalid_i[port] = in.rvalid;
  model.dram_rid_i[port] = in.rid;
  model.dram_rlast_i[port] = in.rlast;
  model.dram_awready_i[port] = in.awready;
  model.dram_wready_i[port] = in.wready;
  model.dram_bvalid_i[port] = in.bvalid;
  model.dram_bid_i[port] = in.bid;
  model.dram_rresp_i[port] = 0;
  model.dram_bresp_i[port] = 0;
}

static void apply(Model& model, const Inputs& in) {
  for (int port = 0; port < DramPorts; port++) apply(model, port, in.dram[port]);
  std::memcpy(model.request_tdata_i.data(), in.request_data, sizeof in.request_data);
  std::memcpy(model.host_beat_data_i.data(), in.host_beat_data, sizeof in.host_beat_data);
  model.rst_i = in.reset;
  model.control_awvalid_i = in.control_awvalid;
  model.control_awaddr_i = in.control_awaddr;
  model.control_wvalid_i = in.control_wvalid;
  model.control_wdata_i = in.control_wdata;
  model.control_wstrb_i = 0xf;
  model.control_bready_i = in.control_bready;
  model.control_arvalid_i = in.control_arvalid;
  model.control_araddr_i = in.control_araddr;
  model.control_rready_i = in.control_rready;
  model.request_tvalid_i = in.request_valid;
  model.request_tkeep_i = in.request_keep;
  model.request_tlast_i = in.request_last;
  model.completion_tready_i = in.completion_ready;
  model.host_read_ready_i = in.host_read_ready;
  model.host_beat_valid_i = in.host_beat_valid;
  model.host_beat_tag_i = in.host_beat_tag;
  model.host_beat_last_i = in.host_beat_last;
  model.host_beat_error_i = in.host_beat_error;
}

static void sample(const Model& model, int port, DramOutputs& out) {
  std::memcpy(out.wdata, model.dram_wdata_o[port].data(), sizeof out.wdata);
  out.arvalid = model.dram_arvalid_o[port];
  out.arid = model.dram_arid_o[port];
  out.araddr = model.dram_araddr_o[port];
  out.arlen = model.dram_arlen_o[port];
  out.rready = model.dram_rready_o[port];
  out.awvalid = model.dram_awvalid_o[port];
  out.awid = model.dram_awid_o[port];
  out.awaddr = model.dram_awaddr_o[port];
  out.awlen = model.dram_awlen_o[port];
  out.wvalid = model.dram_wvalid_o[port];
  out.wstrb = model.dram_wstrb_o[port];
  out.bready = model.dram_bready_o[port];
}

static void sample(const Model& model, Outputs& out) {
  for (int port = 0; port < DramPorts; port++) sample(model, port, out.dram[port]);
  std::memcpy(out.completion_data, model.completion_tdata_o.data(), sizeof out.completion_data);
  out.control_awready = model.control_awready_o;
  out.control_wready = model.control_wready_o;
  out.control_bvalid = model.control_bvalid_o;
  out.control_bresp = model.control_bresp_o;
  out.control_arready = model.control_arready_o;
  out.control_rvalid = model.control_rvalid_o;
  out.control_rdata = model.control_rdata_o;
  out.control_rresp = model.control_rresp_o;
  out.request_ready = model.request_tready_o;
  out.completion_valid = model.completion_tvalid_o;
  out.completion_keep = model.completion_tkeep_o;
  out.completion_last = model.completion_tlast_o;
  out.host_read_valid = model.host_read_valid_o;
  out.host_read_address = model.host_read_address_o;
  out.host_read_bytes = model.host_read_bytes_o;
  out.host_read_tag = model.host_read_tag_o;
  out.host_beat_ready = model.host_beat_ready_o;
  out.window_oldest = model.window_oldest_o;
  out.window_newest = model.window_newest_o;
}

extern "C" {

// A model before its first cycle, or null if there is no memory for it.
Simulation* honeycomb_model_new() {
  try {
    return new Simulation;
  } catch (...) {
    return nullptr;
  }
}

void honeycomb_model_delete(Simulation* simulation) {
  delete simulation;
}

// One cycle: the outputs are those beside the inputs, before the clock edge.
void honeycomb_model_cycle(Simulation* simulation, const Inputs* in, Outputs* out) {
  Model& model = simulation->model;
  model.clk_i = 0;
  apply(model, *in);
  simulation->eval();
  sample(model, *out);
  simulation->events = model.events_o;
  simulation->context.timeInc(simulation->half_cycle);
  model.clk_i = 1;
  simulation->eval();
  simulation->context.timeInc(simulation->half_cycle);
}

// The events of the cycle that ran last, and how many words they are.
const uint32_t* honeycomb_model_events(const Simulation* simulation, size_t* words) {
  *words = sizeof(Events) / sizeof(uint32_t);
  return simulation->events.data();
}

#ifdef HONEYCOMB_TRACE
// Writes a waveform from here on. False if it cannot be written there.
bool honeycomb_model_trace(Simulation* simulation, const char* path, uint64_t half_cycle) {
  simulation->half_cycle = half_cycle;
  simulation->model.trace(&simulation->trace, 99);
  simulation->trace.open(path);
  return simulation->trace.isOpen();
}
#endif

}
