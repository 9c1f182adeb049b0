# SPDX-License-Identifier: MIT
"""gdb commands for living programs that use weft (gdb -x weft-gdb.py PROGRAM):

  info goroutines [all] [STATE]   goroutines, those with equal stacks as one entry with a count; all: one line for each
  goroutine N COMMAND             runs a gdb command on the stack of goroutine N: bt, frame 2, info locals
  goroutine apply all COMMAND     the same for each goroutine
  info weft                       processors (P) and threads (M)

The library needs debug information (-g, or a separate file).
"""
import re
import struct

import gdb
import gdb.unwinder

REASONS = "weft::sched::WaitReason"
STATES = "weft::sched::GStatus"
X86_SAVED = ("r15", "r14", "r13", "r12", "rbx", "rbp", "rip")
ARM_SAVED = tuple(f"x{i}" for i in range(19, 29)) + tuple(f"d{i}" for i in range(8, 16)) + ("x29", "x30")


def value(text):
    with gdb.with_parameter("language", "c++"):  # the selected frame may be one of assembly
        return gdb.parse_and_eval(text)


def read(address, size):
    return bytes(gdb.selected_inferior().read_memory(address, size))


def words(address, count):
    return struct.unpack(f"<{count}Q", read(address, 8 * count))


def enumerators(name):
    return {field.enumval: field.name.split("::")[-1][1:] for field in gdb.lookup_type(name).fields()}


def spaced(name):
    """ChanReceive -> chan receive"""
    return re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name).lower()


def is_arm():
    return "aarch64" in gdb.selected_inferior().architecture().name()


class Layout:
    """Offsets of the fields that are read for each goroutine: gdb.Value would take a millisecond for each."""

    def __init__(self):
        goroutine = gdb.lookup_type("weft::sched::Goroutine")
        self.size = goroutine.sizeof
        self.at = {field.name: field.bitpos // 8 for field in goroutine.fields() if field.name}
        self.reasons = {number: spaced(name) for number, name in enumerators(REASONS).items()}
        self.states = {number: spaced(name) for number, name in enumerators(STATES).items()}
        self.anchor = int(value("(unsigned long)&'weft::detail::spawn_anchor()'"))
        self.now_ms = int(value("weft::sched::scheduler.coarse_ms.value_._M_i"))

    def unsigned(self, data, field, size):
        return int.from_bytes(data[self.at[field]:self.at[field] + size], "little")


class Goroutine:
    def __init__(self, layout, address, data):
        self.address = address
        self.id = layout.unsigned(data, "id", 8)
        self.sp = layout.unsigned(data, "sp", 8)
        self.status = layout.unsigned(data, "status", 1)
        self.state = layout.states.get(self.status, "?")
        self.object = layout.unsigned(data, "wait_object", 8)
        self.bottom = layout.unsigned(data, "stack_bottom", 8)
        self.parent = layout.unsigned(data, "parent", 8)
        self.name_at = layout.unsigned(data, "name", 8)
        site = int.from_bytes(data[layout.at["site"]:layout.at["site"] + 4], "little", signed=True)
        self.site = layout.anchor + site if site else 0
        self.waited_s = 0
        if self.state == "waiting":
            self.state = layout.reasons.get(layout.unsigned(data, "wait_reason", 1), "waiting")
            self.waited_s = ((layout.now_ms - layout.unsigned(data, "wait_since_ms", 4)) & 0xFFFFFFFF) // 1000

    def name(self):
        if not self.name_at:
            return ""
        text, size = words(self.name_at, 2)
        raw = read(text, min(size, 200)).decode("utf-8", "replace")
        return "".join(c if c.isprintable() else "?" for c in raw)

    def title(self):
        name = self.name()
        line = f"goroutine {self.id}" + (f' "{name}"' if name else "") + f" [{self.state}"
        if self.waited_s:
            line += f", {self.waited_s} s"
        line += "]"
        return line + (f" on {self.object:#x}" if self.object else "")

    def saved(self):
        """Registers of one that does not run; None: it runs, or is in a call."""
        if not self.sp:
            return None
        names = ARM_SAVED if is_arm() else X86_SAVED
        registers = dict(zip(names, words(self.sp, len(names))))
        if is_arm():
            registers["pc"] = registers["x30"]
            registers["sp"] = self.sp + 8 * len(names)
        else:
            registers["rsp"] = self.sp + 8 * len(names)
        return registers

    def stack(self, data=None, begin=0):
        """Code addresses, along the frame pointers. `data`: memory up to the G that was read already, from `begin` on."""
        if not self.sp:
            return ()
        frame_at, pc_at = (144, 152) if is_arm() else (40, 48)

        def word(address):
            if data is not None and begin <= address <= begin + len(data) - 8:
                return int.from_bytes(data[address - begin:address - begin + 8], "little")
            return words(address, 1)[0]

        found = [word(self.sp + pc_at)]
        frame = word(self.sp + frame_at)
        low = self.sp
        while low < frame < self.address and frame % 8 == 0 and len(found) < 64:
            low = frame
            found.append(word(frame + 8))
            frame = word(frame)
        return tuple(pc for pc in found if pc)


def goroutines(layout, with_stack=False):
    """All that have not ended. with_stack: (goroutine, code addresses)."""
    region_type = gdb.lookup_type("weft::sched::StackPool::Region").pointer()
    region = value("weft::sched::scheduler.stacks.regions_.value_._M_b._M_p").cast(region_type)
    before = 1024 if with_stack else 0
    dead = next(number for number, name in layout.states.items() if name == "dead")
    while int(region):
        base, stride = int(region["base"]), int(region["stride"])
        for index in range(int(region["carved"]["value_"]["_M_i"])):
            address = base + (index + 1) * stride - layout.size - index % 16 * 64
            data = read(address - before, layout.size + before)
            own = data[before:]
            if own[layout.at["status"]] == dead:
                continue
            goroutine = Goroutine(layout, address, own)
            yield (goroutine, goroutine.stack(data, address - before)) if with_stack else goroutine
        region = region["next"]


def find(number):
    for goroutine in goroutines(Layout()):
        if goroutine.id == number:
            return goroutine
    raise gdb.GdbError(f"There is no goroutine {number}.")


RUNTIME_FILE = re.compile(r"(^|/)(src/(api|arch|base|os|policy|profile|runtime|sched|service|trace)|include/(weft|c\+\+))/")


def is_users(name):
    """Names of templates begin with the type that they return."""
    return not re.match(r"(decltype\(auto\) |void )?(weft::|std::|__gnu_cxx::|weft_)", name)


def users_line_before(pc, start):
    """file:line of the last instruction from `start` to pc that comes from a file of the user's: a call, even if what is
    called there is inlined."""
    found = None
    while start <= pc:
        line = gdb.find_pc_line(start)
        if line.symtab is None or line.last is None:
            break
        if line.line and not re.search(r"(^|/)include/(weft|c\+\+)/", line.symtab.filename):
            found = f"{line.symtab.filename}:{line.line}"
        start = line.last + 1
    return found


def users_place(pc):
    """file:line of the innermost function around the address that is neither weft's nor the standard library's."""
    block, inlined = gdb.block_for_pc(pc), None
    while block is not None and not block.is_static:
        if block.function is not None:
            if is_users(block.function.print_name):
                # A call that is inlined at once has no instruction of its own; but gdb has the line of that call.
                return users_line_before(pc, block.start) or (inlined and f"{inlined.symtab.filename}:{inlined.line}")
            inlined = block.function
        block = block.superblock
    return None


def line_of_users_file(pc):
    """file:line of the address if the line is in no file of weft's or the standard library's."""
    line = gdb.find_pc_line(pc)
    if line.symtab is None or RUNTIME_FILE.search(line.symtab.filename):
        return None
    return f"{line.symtab.filename}:{line.line}"


def any_place(pc):
    line = gdb.find_pc_line(pc)
    return f"{line.symtab.filename}:{line.line}" if line.symtab is not None else f"{pc:#x}"


def users_part(stack, cache):
    """The frames from the innermost one of the user's on, and that one's file:line."""
    for number, pc in enumerate(stack):
        if pc not in cache:
            cache[pc] = users_place(pc - 1) or line_of_users_file(pc - 1)
        if cache[pc] is not None:
            return stack[number:], cache[pc]
    return stack, any_place(stack[0] - 1) if stack else "(running, or in a call)"


class Switched(gdb.unwinder.Unwinder):
    """While a goroutine is selected, the frame above the innermost one of the thread is the goroutine's."""

    def __init__(self):
        super().__init__("weft-goroutine")
        self.registers = None

    def __call__(self, pending):
        if self.registers is None:
            return None
        pointer, counter = ("sp", "pc") if is_arm() else ("rsp", "rip")
        sp, pc = pending.read_register(pointer), pending.read_register(counter)
        if int(sp) != self.thread_sp or int(pc) != self.thread_pc:
            return None
        info = pending.create_unwind_info(FrameId(self.inner, pc))
        for name, number in self.registers.items():
            register = pending.read_register(name)
            kind = register.type if register.type.sizeof == 8 and register.type.code != gdb.TYPE_CODE_UNION else sp.type
            info.add_saved_register(name, gdb.Value(number).cast(kind if kind.code == gdb.TYPE_CODE_INT else
                                                                 gdb.lookup_type("unsigned long")))
        return info

    def select(self, goroutine):
        self.registers = None
        gdb.invalidate_cached_frames()
        if goroutine is None:
            return
        registers = goroutine.saved()
        if registers is None:
            raise gdb.GdbError(f"Goroutine {goroutine.id} is running or in a call: see info threads.")
        newest = gdb.newest_frame()
        self.thread_sp = int(newest.read_register("sp"))
        self.thread_pc = int(newest.read_register("pc"))
        # gdb wants each frame further up than the one before.
        self.inner = gdb.Value(goroutine.bottom).cast(gdb.lookup_type("unsigned long"))
        self.registers = {name: number for name, number in registers.items() if not name.startswith("d")}
        gdb.invalidate_cached_frames()


class FrameId:
    def __init__(self, sp, pc):
        self.sp, self.pc = sp, pc


SWITCHED = Switched()
gdb.unwinder.register_unwinder(None, SWITCHED, replace=True)


def run_on(goroutine, command):
    """The thread's own innermost frame is number 0, so the goroutine's begin with 1."""
    SWITCHED.select(goroutine)
    try:
        gdb.newest_frame().older().select()
        text = gdb.execute(command, to_string=True)
        if command.split()[0] in ("bt", "backtrace", "where"):
            text = "".join(line for line in text.splitlines(True) if not line.startswith("#0 "))
        gdb.write(text)
    finally:
        SWITCHED.select(None)


class InfoGoroutines(gdb.Command):
    """info goroutines [all] [STATE]: goroutines grouped by equal stacks; all: one line for each."""

    def __init__(self):
        super().__init__("info goroutines", gdb.COMMAND_STATUS)

    def invoke(self, argument, from_tty):
        arguments = argument.split()
        one_by_one = "all" in arguments
        wanted = " ".join(word for word in arguments if word != "all")
        groups, cache = {}, {}
        for goroutine, stack in goroutines(Layout(), with_stack=True):
            if wanted and wanted not in goroutine.state:
                continue
            # How the runtime parked it says nothing.
            frames, line = users_part(stack, cache)
            key = goroutine.id if one_by_one else (goroutine.state, frames, goroutine.site)
            groups.setdefault(key, []).append((goroutine, line))
        for group in sorted(groups.values(), key=lambda one: (-len(one), one[0][0].id)):
            goroutine, line = group[0]
            count = f"{len(group)} goroutines like " if len(group) > 1 else ""
            site = goroutine.site
            started = f", started at {users_place(site) or any_place(site)}" if site else ""
            gdb.write(f"{count}{goroutine.title()} at {line}{started}\n")


class OneGoroutine(gdb.Command):
    """goroutine N COMMAND, goroutine apply all COMMAND: runs a gdb command on a goroutine's stack."""

    def __init__(self):
        super().__init__("goroutine", gdb.COMMAND_STACK)

    def invoke(self, argument, from_tty):
        match = re.fullmatch(r"\s*(\d+|apply\s+all)\s+(\S.*)", argument)
        if match is None:
            raise gdb.GdbError("usage: goroutine N COMMAND, or goroutine apply all COMMAND; such as goroutine 7 bt")
        command = re.sub(r"^locals\b", "info locals", match[2])
        if match[1].isdigit():
            return run_on(find(int(match[1])), command)
        for goroutine in sorted(goroutines(Layout()), key=lambda one: one.id):
            gdb.write(f"\n{goroutine.title()}\n")
            if goroutine.sp:
                run_on(goroutine, command)


class InfoWeft(gdb.Command):
    """info weft: processors and threads."""

    def __init__(self):
        super().__init__("info weft", gdb.COMMAND_STATUS)

    def invoke(self, argument, from_tty):
        scheduler = "weft::sched::scheduler"
        count = int(value(f"{scheduler}.maxprocs.value_._M_i"))
        gdb.write(f"{count} P, {int(value(f'{scheduler}.threads.value_._M_i'))} M, "
                  f"{int(value(f'{scheduler}.inject.size_.value_._M_i'))} in the global queue\n")
        machine = value(f"{scheduler}.all_machines")
        while int(machine):
            current = machine["current"]
            number = int(current["g"]["id"]) if int(current) and int(current["g"]) else None
            doing = f"goroutine {number}" if number else "idle" if machine["idle"] else "scheduling"
            if bool(machine["alive"]["value_"]["_M_base"]["_M_i"]):
                gdb.write(f"M {int(machine['id'])} thread {int(machine['tid'])}: {doing}\n")
            machine = machine["all_next"]


def keep_signal_quiet(event=None):
    try:
        number = int(value("weft::sched::scheduler.preempt_signal.value_._M_i"))
        if number >= 35:
            gdb.execute(f"handle SIG{number} nostop noprint pass", to_string=True)
    except gdb.error:
        pass


InfoGoroutines()
OneGoroutine()
InfoWeft()
for possible in range(59, 64):  # before the runtime has started: it takes the highest free one
    gdb.execute(f"handle SIG{possible} nostop noprint pass", to_string=True)
gdb.events.stop.connect(keep_signal_quiet)
