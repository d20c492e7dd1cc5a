"""A device with the integrated block for PCIe of UltraScale+ devices, in a slot of a root complex: models of
cocotbext-pcie, which were written from the standards alone."""

import logging
import random

from cocotb import start_soon
from cocotb.handle import Immediate
from cocotb.triggers import RisingEdge
from cocotbext.axi import AxiStreamBus
from cocotbext.pcie.core import RootComplex
from cocotbext.pcie.core.tlp import Tlp, TlpType
from cocotbext.pcie.xilinx.us import UltraScalePlusPcieDevice
from cocotbext.pcie.xilinx.us.tlp import ErrorCode, Tlp_us
from streams import time_out

PAGE = 4096
IO_BYTES = 256
# The bit of the user signals of packets to the device that reports a damaged packet.
DISCONTINUE = 96
# The streams of the block: whether the device is their manager or their subordinate.
STREAMS = {"rq": "m", "rc": "s", "cq": "s", "cc": "m"}


class Link:
    """Completions between the link and the integrated block. Those of different requests change places."""

    def __init__(self, block, clock, held: float):
        self.put, self.held, self.waiting = block.rc_queue.put_nowait, held, {}
        block.rc_queue.put_nowait = self.receive
        start_soon(self.run(clock))

    def receive(self, completion: Tlp):
        self.waiting.setdefault(completion.tag, []).append(completion)

    async def run(self, clock):
        while True:
            await RisingEdge(clock)
            while self.waiting and random.random() >= self.held:
                tag = random.choice(list(self.waiting))
                self.put(self.waiting[tag].pop(0))
                if not self.waiting[tag]:
                    del self.waiting[tag]


class Faults:
    """Replaces completions between the link and the integrated block by faulty ones, or loses them."""

    def __init__(self, block, share: float, lost: float = 0.0):
        self.share, self.lost, self.put = share, lost, block.rc_queue.put_nowait
        # Completions that were poisoned, that the block could not read, that ended their requests early, and
        # those of no request.
        self.poisoned = self.damaged = self.ended = self.strays = 0
        block.rc_queue.put_nowait = self.receive

    def receive(self, completion: Tlp_us):
        if random.random() < self.lost:
            return
        if random.random() < self.share:
            self.strays += 1
            self.put(self.stray(completion))
        if random.random() < self.share:
            self.poisoned += 1
            completion.ep, completion.error_code = True, ErrorCode.POISONED
            completion.set_data(random.randbytes(len(completion.data)))
        elif random.random() < self.share:
            self.damaged += 1
            completion.discontinue = True
            completion.set_data(random.randbytes(len(completion.data)))
        elif completion.request_completed and random.random() < self.share:
            self.ended += 1
            self.end_early(completion)
        self.put(completion)

    def count(self) -> int:
        """Returns the number of completions that may fail a read."""
        return self.poisoned + self.damaged + self.ended

    def end_early(self, completion: Tlp_us):
        """Ends the request with an error. A completion of a wrong length may contain lines."""
        completion.error_code = random.choice((ErrorCode.TIMEOUT, ErrorCode.FLR, ErrorCode.INVALID_LENGTH))
        if completion.error_code != ErrorCode.INVALID_LENGTH or random.random() < 0.5:
            completion.set_data(b"")

    def stray(self, completion: Tlp_us) -> Tlp_us:
        """Returns a completion of no request in flight."""
        stray = Tlp_us(completion)
        codes = (ErrorCode.MISMATCH, ErrorCode.INVALID_ADDRESS, ErrorCode.INVALID_TAG)
        stray.error_code = random.choice(codes)
        if stray.error_code == ErrorCode.INVALID_TAG:
            stray.tag = random.randrange(256)
        if random.random() < 0.5:
            stray.set_data(b"")
        return stray


def discontinue_at_end(source):
    """Makes a stream of the block report a damaged packet in its last beat only, as the block does. The model
    reports it in all beats."""
    drive = source._drive

    async def drive_beat(beat):
        if not beat.tlast:
            beat.tuser &= ~(1 << DISCONTINUE)
        await drive(beat)

    source._drive = drive_beat


class Device:
    """`root` is the root complex, `block` the block, `bar` the base address register of the device, and `io`
    another one, in the space of inputs and outputs. The block drives its clock."""

    def __init__(self, dut, bar_bytes: int, clock, reset):
        # The models report each packet, those of PCIe and those at buses of the device.
        for name in ("pcie", dut._name):
            logging.getLogger(f"cocotb.{name}").setLevel(logging.CRITICAL)
        # At once: the models start with a clock edge outside of reset.
        reset.set(Immediate(1))
        self.clock, self.reset, self.root = clock, reset, RootComplex()
        streams = {
            f"{name}_bus": AxiStreamBus.from_prefix(dut, f"{side}_axis_{name}")
            for name, side in STREAMS.items()
        }
        self.block = UltraScalePlusPcieDevice(
            pcie_generation=3, pcie_link_width=16, user_clk_frequency=250e6, alignment="dword",
            max_payload_size=1024, enable_client_tag=True, enable_extended_tag=True,
            pcie_rq_seq_num0=dut.pcie_rq_seq_num0, pcie_rq_seq_num_vld0=dut.pcie_rq_seq_num_vld0,
            pcie_rq_seq_num1=dut.pcie_rq_seq_num1, pcie_rq_seq_num_vld1=dut.pcie_rq_seq_num_vld1,
            user_clk=clock, cfg_max_payload=dut.cfg_max_payload, cfg_max_read_req=dut.cfg_max_read_req,
            **streams,
        )
        self.block.send = self.send
        start_soon(self.check_gaps(streams["rq_bus"]))
        for source in (self.block.rc_source, self.block.cq_source):
            discontinue_at_end(source)
        Link(self.block, clock, held=0.9)
        self.block.functions[0].configure_bar(0, bar_bytes)
        self.block.functions[0].configure_io_bar(1, IO_BYTES)
        self.root.make_port().connect(self.block)

    async def check_gaps(self, bus):
        """Fails if a request has a gap between its first and its last beat: the block would discard it."""
        within = False
        while True:
            await RisingEdge(self.clock)
            valid = self.reset.value == 0 and bus.tvalid.value == 1
            assert valid or not within, "a request has a gap"
            if valid and bus.tready.value == 1:
                within = bus.tlast.value == 0

    async def start(self):
        """Ends the reset and enumerates the bus."""
        start_soon(time_out())
        for _ in range(3):
            await RisingEdge(self.clock)
        self.reset.value = 0
        await self.root.enumerate()
        function = self.root.find_device(self.block.functions[0].pcie_id)
        await function.enable_device()
        await function.set_master()
        self.bar, self.io = function.bar_window[0], function.bar_window[1]

    async def send(self, packet: Tlp):
        """Sends a packet to the host. A request is within the limits and within a page."""
        limits = self.block.functions[0].pcie_cap
        is_read = packet.fmt_type in (TlpType.MEM_READ, TlpType.MEM_READ_64)
        if is_read or packet.fmt_type in (TlpType.MEM_WRITE, TlpType.MEM_WRITE_64):
            limit = limits.max_read_request_size if is_read else limits.max_payload_size
            assert 0 < 4 * packet.length <= 128 << limit
            assert packet.address % PAGE + 4 * packet.length <= PAGE
        await self.block.upstream_send(packet)

    def limit(self, max_read: int, max_payload: int, split: bool):
        """Sets the limits of requests and of payload, as powers of two from 128 bytes on, and whether the
        host divides completions wherever it may."""
        capability = self.block.functions[0].pcie_cap
        capability.max_read_request_size, capability.max_payload_size = max_read, max_payload
        self.root.max_payload_size, self.root.split_on_all_rcb = max_payload, split

    def channels(self) -> list:
        """Returns the streams, for random pauses."""
        return [self.block.rq_sink, self.block.rc_source, self.block.cq_source, self.block.cc_sink]
