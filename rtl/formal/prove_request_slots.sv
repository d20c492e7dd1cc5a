// Proves for request slots with arbitrary neighbours: a slot belongs to one request at a time, the window
// contains all requests in flight and becomes empty after them, and a request reads at the version that it
// names, or else at the read version of the cycle in which it was accepted. A request may get its slot before
// the one before it is accepted.

`default_nettype none

module prove_request_slots
  import layout_pkg::*;
  import accelerator_pkg::*;
(
  input logic clk_i,
  input logic slot_ready_i,
  input logic request_valid_i,
  input logic is_malformed_i,
  input logic [1:0] own_version_i,
  input logic [1:0] read_version_i,
  input logic root_read_ready_i,
  input logic root_i,
  input logic descent_ready_i,
  input logic rejection_ready_i,
  input logic done_valid_i,
  input logic done_slot_i
);

  // A small number, so that slots are reused often.
  localparam int unsigned Slots = 2;

  logic rst;
  logic slot_valid, request_ready, root_read_valid, descent_valid, rejection_valid;
  logic begins, accepts, sends;
  slot_t slot;
  parsed_request_t request;
  descent_t descent;
  answer_beat_t rejection;
  logic [63:0] oldest, newest;

  // For each slot: its request is in flight, it was sent to the search engine or rejected, and its
  // number. The numbers of the requests that began and that were accepted last, and the version of the
  // latter.
  logic [Slots-1:0] live_q, sent_q;
  logic [Slots-1:0][7:0] number_q;
  logic root_read_q, root_q;
  logic [1:0] version_q;
  logic [7:0] begun_q, accepted_q, next;
  logic [2:0] idle_q;

  neighbours u_neighbours (
    .clk_i,
    .rst_o(rst),
    .in_valid_i(request_valid_i),
    .in_ready_i(request_ready)
  );

  always_comb begin
    request = '0;
    request.slot = 8'(next[0]);
    request.status = is_malformed_i ? 8'(StatusMalformed) : 8'(StatusFound);
    request.request.read_version = 64'(own_version_i);
  end

  request_slots #(
    .SlotCount(Slots)
  ) u_request_slots (
    .clk_i,
    .rst_i(rst),
    .slot_valid_o(slot_valid),
    .slot_ready_i,
    .slot_o(slot),
    .request_valid_i,
    .request_ready_o(request_ready),
    .request_i(request),
    .root_read_valid_o(root_read_valid),
    .root_read_ready_i,
    .root_table_o(),
    .root_i(lid_t'(root_i)),
    .read_version_i(64'(read_version_i)),
    .descent_valid_o(descent_valid),
    .descent_ready_i,
    .descent_o(descent),
    .rejection_valid_o(rejection_valid),
    .rejection_ready_i,
    .rejection_o(rejection),
    .name_read_i(1'b0),
    .name_slot_i('0),
    .name_identifier_o(),
    .name_read_version_o(),
    .done_valid_i,
    .done_slot_i(8'(done_slot_i)),
    .window_oldest_o(oldest),
    .window_newest_o(newest),
    .idle_o()
  );

  assign next = accepted_q + 8'd1;
  assign begins = slot_valid && slot_ready_i;
  assign accepts = request_valid_i && request_ready;
  assign sends = (descent_valid && descent_ready_i) || (rejection_valid && rejection_ready_i);

  always_ff @(posedge clk_i) begin
    root_q <= root_i;
    root_read_q <= root_read_valid && root_read_ready_i;
    if (accepts) version_q <= own_version_i == '0 ? read_version_i : own_version_i;
    if (rst) begin
      {live_q, sent_q, begun_q, accepted_q, idle_q} <= '0;
    end else begin
      if (begins) begin
        live_q[slot[0]] <= 1'b1;
        number_q[slot[0]] <= begun_q + 8'd1;
        begun_q <= begun_q + 8'd1;
      end
      if (accepts) accepted_q <= next;
      if (sends) sent_q[accepted_q[0]] <= 1'b1;
      if (done_valid_i) {live_q[done_slot_i], sent_q[done_slot_i]} <= '0;
      idle_q <= live_q != '0 || begins ? '0 : idle_q + 3'(idle_q != '1);
    end
  end

  // The parser has two slots at most whose requests are not accepted, and only requests that were sent are
  // completed. A root is stable until the next one is read.
  always @(posedge clk_i) begin
    if (!rst) begin
      TwoAtATime : assume (!slot_ready_i || begun_q - accepted_q < 8'd2);
      RequestHasSlot : assume (!request_valid_i || begun_q != accepted_q);
      DoneWasSent : assume (!done_valid_i || sent_q[done_slot_i]);
      RootStays : assume (root_read_q || root_i == root_q);
      RequestStays : assume (!$past(request_valid_i && !request_ready && !rst)
          || ($stable(is_malformed_i) && $stable(own_version_i)));
    end
  end

  always @(posedge clk_i) begin
    if (!rst) begin
      SlotIsFree : assert (!begins || (slot < 8'(Slots) && !live_q[slot[0]]));
      DescentHasSlot : assert (!descent_valid || descent.request.slot == 8'(accepted_q[0]));
      RejectionHasSlot : assert (!rejection_valid || rejection.slot == 8'(accepted_q[0]));
      DescentHasVersion : assert (!descent_valid || descent.request.read_version == 64'(version_q));
      WindowBecomesEmpty : assert (idle_q < 3'd6 || oldest == newest + 64'd1);
    end
  end
  for (genvar at = 0; at < Slots; at++) begin : gen_slots
    always @(posedge clk_i) begin
      if (!rst) begin
        IsInWindow : assert (!live_q[at] || (oldest <= 64'(number_q[at]) && 64'(number_q[at]) <= newest));
      end
    end
  end

endmodule

`default_nettype wire
