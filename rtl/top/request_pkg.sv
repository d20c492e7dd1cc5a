// What the bytes of a request mean: which requests are valid, and how long they are.

`default_nettype none

package request_pkg;

  import layout_pkg::*;

  // The functions use only some fields of a request.
  // verilator lint_off UNUSEDSIGNAL

  function automatic logic is_too_long(request_t request);
    return request.lower_length > 16'(KeyBytesMax) || request.upper_length > 16'(KeyBytesMax);
  endfunction

  function automatic logic [2:0] padding_bytes(request_t request);
    return -(request.lower_length[2:0] + request.upper_length[2:0]);
  endfunction

  // StatusFound, or why a request is rejected.
  function automatic logic [7:0] status_of(request_t request);
    request_flags_t flags;
    logic is_lower_empty, is_upper_empty, has_limits;
    flags = request.flags;
    is_lower_empty = request.lower_length == '0;
    is_upper_empty = request.upper_length == '0;
    has_limits = request.pairs_max != '0 || request.bytes_max != '0;
    if (is_too_long(request)) return 8'(StatusKeyLength);
    case (request.opcode)
      8'(OpcodeGet): begin
        if (is_lower_empty) return 8'(StatusKeyLength);
        if (has_limits || flags != '0 || !is_upper_empty) return 8'(StatusMalformed);
      end
      8'(OpcodeScan): begin
        if (is_lower_empty && flags.lower_excluded) return 8'(StatusMalformed);
        if (is_upper_empty && flags.upper_excluded) return 8'(StatusMalformed);
        if (flags.padding != '0 || (flags.floor_start && flags.backward)) return 8'(StatusMalformed);
      end
      default: return 8'(StatusUnknownOpcode);
    endcase
    return 8'(StatusFound);
  endfunction

  // verilator lint_on UNUSEDSIGNAL

endpackage

`default_nettype wire
