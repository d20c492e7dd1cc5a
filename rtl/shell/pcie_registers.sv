// Accesses of the host to a base address register as accesses to registers over AXI4-Lite, one at a time.
// Requests to memory of one or two dwords are executed. All others, and reads of registers that respond with
// an error, complete as unsupported, which the host sees as all ones; other writes are ignored. If the first
// dword of a write is rejected, the second one is not written. A request that the block reports as damaged,
// in its last beat, is not executed.

`default_nettype none

`include "assertions.svh"

module pcie_registers
  import accelerator_pkg::*;
  import axi_pkg::*;
  import pcie_pkg::*;
#(
  parameter int unsigned AddressBits = 12
) (
  input logic clk_i,
  input logic rst_i,

  // requests of the host, with the byte enables of their first and last dword in the first beat
  input  logic       request_valid_i,
  output logic       request_ready_o,
  // verilator lint_off UNUSEDSIGNAL
  input  pcie_beat_t request_i,
  // verilator lint_on UNUSEDSIGNAL
  input  logic       request_damaged_i,
  input  logic [3:0] request_first_i,
  input  logic [3:0] request_last_i,

  // completions of one beat
  output logic       answer_valid_o,
  input  logic       answer_ready_i,
  output pcie_beat_t answer_o,

  // A request was executed: its writes are in force.
  output logic executed_o,

  output logic                   m_axil_awvalid,
  input  logic                   m_axil_awready,
  output logic [AddressBits-1:0] m_axil_awaddr,
  output logic [2:0]             m_axil_awprot,
  output logic                   m_axil_wvalid,
  input  logic                   m_axil_wready,
  output logic [31:0]            m_axil_wdata,
  output logic [3:0]             m_axil_wstrb,
  input  logic                   m_axil_bvalid,
  output logic                   m_axil_bready,
  input  logic [1:0]             m_axil_bresp,
  output logic                   m_axil_arvalid,
  input  logic                   m_axil_arready,
  output logic [AddressBits-1:0] m_axil_araddr,
  output logic [2:0]             m_axil_arprot,
  input  logic                   m_axil_rvalid,
  output logic                   m_axil_rready,
  input  logic [31:0]            m_axil_rdata,
  input  logic [1:0]             m_axil_rresp
);

  localparam int unsigned RequestBits = $bits(pcie_host_request_t);
  localparam int unsigned AnswerBits = $bits(pcie_host_answer_t);

  typedef enum logic [2:0] {
    Idle,
    // Ignores the other beats of a request.
    Drop,
    // Chooses the next access of the request.
    Choose,
    Write,
    Read,
    Answer
  } state_t;

  state_t state_q;
  // The request. Fields that no answer needs are unused.
  // verilator lint_off UNUSEDSIGNAL
  pcie_host_request_t request, request_q;
  // verilator lint_on UNUSEDSIGNAL
  logic [1:0][31:0] data_q;
  logic [1:0][3:0] enables_q;
  // The dword of the next access, and those after the last one.
  logic [1:0] at_q, dwords_q;
  logic has_failed_q, address_sent_q, data_sent_q;
  logic takes, is_write, is_read, has_answer;
  pcie_host_answer_t answer;
  pcie_beat_t beat;
  logic answer_ready;
  logic [AddressBits-1:0] address;
  logic ends;

  assign request = pcie_host_request_t'(request_i.data[RequestBits-1:0]);
  assign request_ready_o = state_q == Idle || state_q == Drop;
  assign takes = request_valid_i && request_ready_o;

  assign is_write = request_q.kind == PcieMemoryWrite;
  assign is_read = request_q.kind == PcieMemoryRead;
  assign ends = has_failed_q || at_q == dwords_q;
  assign executed_o = state_q == Choose && ends;
  assign has_answer = !is_write && request_q.kind < PcieMessages;

  always_ff @(posedge clk_i) begin
    if (state_q == Idle && takes) begin
      request_q <= request;
      data_q <= request_i.data[RequestBits+:64];
      // A request of one dword has no last one.
      enables_q <= request.dwords == 11'd1 ? {4'd0, request_first_i} : {request_last_i, request_first_i};
      dwords_q <= request.dwords[1:0];
    end
    if (m_axil_rvalid && m_axil_rready) data_q[at_q[0]] <= m_axil_rdata;
  end

  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      state_q <= Idle;
    end else begin
      case (state_q)
        Idle: if (takes) state_q <= request_i.last ? Choose : Drop;
        Drop: if (takes && request_i.last) state_q <= Choose;
        Choose: begin
          if (ends) state_q <= has_answer ? Answer : Idle;
          else state_q <= is_write ? Write : Read;
        end
        Write: if (m_axil_bvalid) state_q <= Choose;
        Read: if (m_axil_rvalid) state_q <= Choose;
        default: if (answer_ready) state_q <= Idle;
      endcase
    end
  end

  always_ff @(posedge clk_i) begin
    if (state_q == Idle) begin
      at_q <= '0;
      // Only memory is executed, and two dwords at most.
      has_failed_q <= !(request.kind inside {PcieMemoryRead, PcieMemoryWrite}) || request.dwords > 11'd2
          || request_damaged_i;
    end else if (state_q == Drop && request_damaged_i) begin
      has_failed_q <= 1'b1;
    end else if (state_q inside {Write, Read} && (m_axil_bvalid || m_axil_rvalid)) begin
      at_q <= at_q + 1'b1;
      has_failed_q <= (is_write ? m_axil_bresp : m_axil_rresp) != AxiRespOkay;
    end
    if (state_q == Choose) begin
      {address_sent_q, data_sent_q} <= '0;
    end else begin
      if (m_axil_awvalid && m_axil_awready || m_axil_arvalid && m_axil_arready) address_sent_q <= 1'b1;
      if (m_axil_wvalid && m_axil_wready) data_sent_q <= 1'b1;
    end
  end

  assign address = {request_q.address_dwords[AddressBits-3:0] + (AddressBits - 2)'(at_q), 2'd0};

  assign m_axil_awvalid = state_q == Write && !address_sent_q;
  assign m_axil_awaddr = address;
  assign m_axil_awprot = AxiProtData;
  assign m_axil_wvalid = state_q == Write && !data_sent_q;
  assign m_axil_wdata = data_q[at_q[0]];
  assign m_axil_wstrb = enables_q[at_q[0]];
  assign m_axil_bready = state_q == Write;
  assign m_axil_arvalid = state_q == Read && !address_sent_q;
  assign m_axil_araddr = address;
  assign m_axil_arprot = AxiProtData;
  assign m_axil_rready = state_q == Read;

  // The number of the first byte that is enabled, or of the last one. A read without any has one byte.
  function automatic logic [1:0] first_of(logic [3:0] enables);
    return enables[0] ? 2'd0 : enables[1] ? 2'd1 : enables[2] ? 2'd2 : enables[3] ? 2'd3 : 2'd0;
  endfunction

  // verilator lint_off UNUSEDSIGNAL
  function automatic logic [1:0] last_of(logic [3:0] enables);
    // verilator lint_on UNUSEDSIGNAL
    return enables[3] ? 2'd3 : enables[2] ? 2'd2 : enables[1] ? 2'd1 : 2'd0;
  endfunction

  always_comb begin
    answer = '0;
    answer.tag = request_q.tag;
    answer.requester_id = request_q.requester_id;
    answer.target_function = request_q.target_function;
    answer.traffic_class = request_q.traffic_class;
    answer.attributes = request_q.attributes;
    answer.address_type = request_q.address_type;
    answer.lower_address = {request_q.address_dwords[4:0], first_of(enables_q[0])};
    answer.byte_count = 13'd4 * 13'(request_q.dwords) - 13'(first_of(enables_q[0]))
        - 13'(2'd3 - last_of(enables_q[request_q.dwords != 11'd1]));
    answer.status = is_read && !has_failed_q ? PcieSuccessful : PcieUnsupported;
    answer.dwords = is_read && !has_failed_q ? request_q.dwords : '0;
    beat.data = line_t'({data_q, answer});
    beat.keep = LineDwords'('h1f) >> (5'd2 - 5'(answer.dwords));
    beat.last = 1'b1;
  end

  skid_buffer #(
    .T(pcie_beat_t)
  ) u_answers (
    .clk_i,
    .rst_i,
    .in_valid_i(state_q == Answer),
    .in_ready_o(answer_ready),
    .in_i(beat),
    .out_valid_o(answer_valid_o),
    .out_ready_i(answer_ready_i),
    .out_o(answer_o)
  );

  `ASSERT(DwordIsInRequest, !(state_q inside {Write, Read}) || at_q < dwords_q)
  `ASSERT(AnswerBitsAreDwords, AnswerBits % 32 == 0)
  `COVER(RequestIsUnsupported, state_q == Answer && !is_read)
  `COVER(ReadIsTooLong, state_q == Answer && is_read && request_q.dwords > 11'd2)
  `COVER(RegisterRejectsARead, state_q == Answer && is_read && has_failed_q && request_q.dwords <= 11'd2)
  `COVER(WriteIsIgnored, state_q == Choose && is_write && has_failed_q)
  `COVER(RequestIsDamaged, state_q == Idle && takes && request_i.last && request_damaged_i)
  `COVER(FirstDwordIsRejected,
         state_q == Choose && is_write && has_failed_q && at_q == 2'd1 && dwords_q == 2'd2)
  `COVER(AccessHasTwoDwords, state_q == Choose && at_q == 2'd2)

endmodule

`default_nettype wire
