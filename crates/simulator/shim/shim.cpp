// C interface of the Verilated model.

#include "shim.h"

#include <cstring>
#include <type_traits>

#include "Model.h"
#include "Model___024root.h"
#include "verilated.h"
#ifdef HONEYCOMB_TRACE
#include "verilated_fst_c.h"
#endif

static_assert(DramPorts == 2, "accelerator_top has two channels");
static_assert(sizeof(Inputs) == 4 * 64 + 31 * 8, "src/model.rs declares the same struct");
static_assert(sizeof(Outputs) == 3 * 64 + 39 * 8, "src/model.rs declares the same struct");

using Events = std::remove_reference_t<decltype(Model::events_o)>;

// Returns the context of a model. Waveforms must be enabled, and the seed of unknown values known, before the
// model is constructed. Verilator would replace seed 0 by the time.
static VerilatedContext* prepared(VerilatedContext& context, uint64_t seed) {
  context.randReset(2);
  context.randSeed(1 + static_cast<int>(seed % 0x7fffffff));
#ifdef HONEYCOMB_TRACE
  context.traceEverOn(true);
#endif
  return &context;
}

struct Simulation {
  explicit Simulation(uint64_t seed) : model{prepared(context, seed)} {}

  VerilatedContext context;
  Model model;
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

// The pins of all channels of on-board memory have the same names except for the prefix.
#define APPLY_DRAM(prefix, in)                                                \
  do {                                                                        \
    std::memcpy(model.prefix##_rdata.data(), (in).rdata, sizeof(Line));       \
    model.prefix##_arready = (in).arready;                                    \
    model.prefix##_rvalid = (in).rvalid;                                      \
    model.prefix##_rid = (in).rid;                                            \
    model.prefix##_rlast = (in).rlast;                                        \
    model.prefix##_awready = (in).awready;                                    \
    model.prefix##_wready = (in).wready;                                      \
    model.prefix##_bvalid = (in).bvalid;                                      \
    model.prefix##_bid = (in).bid;                                            \
    model.prefix##_rresp = 0;                                                 \
    model.prefix##_bresp = 0;                                                 \
  } while (false)

#define SAMPLE_DRAM(prefix, out)                                              \
  do {                                                                        \
    std::memcpy((out).wdata, model.prefix##_wdata.data(), sizeof(Line));      \
    (out).arvalid = model.prefix##_arvalid;                                   \
    (out).arid = model.prefix##_arid;                                         \
    (out).araddr = model.prefix##_araddr;                                     \
    (out).arlen = model.prefix##_arlen;                                       \
    (out).rready = model.prefix##_rready;                                     \
    (out).awvalid = model.prefix##_awvalid;                                   \
    (out).awid = model.prefix##_awid;                                         \
    (out).awaddr = model.prefix##_awaddr;                                     \
    (out).awlen = model.prefix##_awlen;                                       \
    (out).wvalid = model.prefix##_wvalid;                                     \
    (out).wstrb = model.prefix##_wstrb;                                       \
    (out).bready = model.prefix##_bready;                                     \
  } while (false)

static void apply(Model& model, const Inputs& in) {
  APPLY_DRAM(m_axi_dram0, in.dram[0]);
  APPLY_DRAM(m_axi_dram1, in.dram[1]);
  std::memcpy(model.s_axis_tdata.data(), in.request_data, sizeof in.request_data);
  std::memcpy(model.m_axi_host_rdata.data(), in.host_rdata, sizeof in.host_rdata);
  model.rst_i = in.reset;
  model.s_axil_awvalid = in.control_awvalid;
  model.s_axil_awaddr = in.control_awaddr;
  model.s_axil_awprot = 0;
  model.s_axil_wvalid = in.control_wvalid;
  model.s_axil_wdata = in.control_wdata;
  model.s_axil_wstrb = 0xf;
  model.s_axil_bready = in.control_bready;
  // Nothing reads registers: counters come from the model.
  model.s_axil_arvalid = 0;
  model.s_axil_araddr = 0;
  model.s_axil_arprot = 0;
  model.s_axil_rready = 0;
  model.s_axis_tvalid = in.request_valid;
  model.s_axis_tkeep = in.request_keep;
  model.s_axis_tlast = in.request_last;
  model.m_axis_tready = in.completion_ready;
  model.m_axi_host_arready = in.host_arready;
  model.m_axi_host_rvalid = in.host_rvalid;
  model.m_axi_host_rid = in.host_rid;
  model.m_axi_host_rlast = in.host_rlast;
  model.m_axi_host_rresp = in.host_rresp;
}

static void sample(const Model& model, Outputs& out) {
  SAMPLE_DRAM(m_axi_dram0, out.dram[0]);
  SAMPLE_DRAM(m_axi_dram1, out.dram[1]);
  std::memcpy(out.completion_data, model.m_axis_tdata.data(), sizeof out.completion_data);
  out.control_awready = model.s_axil_awready;
  out.control_wready = model.s_axil_wready;
  out.control_bvalid = model.s_axil_bvalid;
  out.control_bresp = model.s_axil_bresp;
  out.request_ready = model.s_axis_tready;
  out.completion_valid = model.m_axis_tvalid;
  out.completion_keep = model.m_axis_tkeep;
  out.completion_last = model.m_axis_tlast;
  out.host_arvalid = model.m_axi_host_arvalid;
  out.host_araddr = model.m_axi_host_araddr;
  out.host_arlen = model.m_axi_host_arlen;
  out.host_arid = model.m_axi_host_arid;
  out.host_rready = model.m_axi_host_rready;
  out.window_oldest = model.window_oldest_o;
  out.window_newest = model.window_newest_o;
}

extern "C" {

// Returns a model before its first cycle, or null if memory is exhausted. Its unknown values follow from the
// seed if build.rs has made them random.
Simulation* honeycomb_model_new(uint64_t seed) {
  try {
    return new Simulation(seed);
  } catch (...) {
    return nullptr;
  }
}

void honeycomb_model_delete(Simulation* simulation) {
  delete simulation;
}

// Runs one cycle. The outputs are sampled with the inputs applied, before the clock edge.
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

// Returns the events of the last cycle, and their number of words.
const uint32_t* honeycomb_model_events(const Simulation* simulation, size_t* words) {
  *words = sizeof(Events) / sizeof(uint32_t);
  return simulation->events.data();
}

// Returns the counters, two words each, and their number of words. The registers of the accelerator return one
// counter after the other; these are all of one cycle.
const uint32_t* honeycomb_model_counters(const Simulation* simulation, size_t* words) {
  const auto& counters = simulation->model.rootp->accelerator_top__DOT__u_accelerator__DOT__counters;
  *words = sizeof counters / sizeof(uint32_t);
  return counters.data();
}

#ifdef HONEYCOMB_TRACE
// Starts a waveform. Returns false if the file cannot be written.
bool honeycomb_model_trace(Simulation* simulation, const char* path, uint64_t half_cycle) {
  simulation->half_cycle = half_cycle;
  simulation->model.trace(&simulation->trace, 99);
  simulation->trace.open(path);
  return simulation->trace.isOpen();
}
#endif

}
