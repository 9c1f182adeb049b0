/* SPDX-License-Identifier: MIT
 * Who waits for descriptors and timers (sched/core/search.cc, sched/core/work_source.cc, sched/core/timer_watch.cc): the M that blocks in the netpoller with
 * the next timer as its limit, the poller's seat, the passive spinner, and everybody who has to break their sleep, in every
 * interleaving. Two Ps; a goroutine or a plain thread that reads, a goroutine that sleeps, a plain thread that sets an earlier
 * timer and one that submits work, a hog, and the peer whose data arrive at any moment.
 *
 *   Time      stands still while anybody can move. So at each tick everybody has come to rest, and then:
 *   Prompt    no timer is due, nothing runnable waits beside an idle P, nobody sleeps who was given a P, and nobody waits for a
 *             descriptor that is ready (N1).
 *   Bounded   beside a busy P the passive spinner may have left the descriptors alone: until its next look, one tick.
 *   End       everybody has been served.
 *   Steps     one atomic operation of the source, or what it does under machines_lock, is one step. Memory orders are relacy's
 *             business, the search for work itself scheduler.pml's; there is one queue here, as under WEFT_POLICY=global.
 *   Left out  sysmon: nothing here may need it.
 *
 * Each mutant leaves one thing out, and must be found out:
 *
 * run: reader pass -DREADS -DSLEEPS -- -E
 * run: worker pass -DREADS -DSUBMITS -DSILENT -- -E
 * run: earlier_timer pass -DSLEEPS -DADDS -- -E
 * run: earlier_timer_and_reader pass -DREADS -DADDS -DSOON -- -E
 * run: thread_reads pass -DREADS -DTHREAD_READS -- -E
 * run: hog pass -DREADS -DHOG -DSOON -- -E
 * run: hog_and_timer pass -DADDS -DHOG -- -E
 * run: no_break fail -DREADS -DSUBMITS -DNO_BREAK -- -E
 * run: look_eats_the_bell fail -DREADS -DSUBMITS -DEATS_THE_BELL -- -E
 * run: blocks_without_looking_at_its_note fail -DREADS -DSUBMITS -DNO_LOOK_AT_THE_NOTE -- -E
 * run: reads_the_timers_before_it_has_the_seat fail -DSLEEPS -DADDS -DTIMERS_BEFORE_SEAT -- -E
 * run: keeps_the_seat fail -DSLEEPS -DADDS -DKEEPS_THE_SEAT -- -E
 * run: nobody_is_told_of_an_earlier_timer fail -DSLEEPS -DADDS -DNO_TIMER_BREAK -- -E
 * run: nobody_is_told_of_a_descriptor fail -DREADS -DTHREAD_READS -DNOT_TOLD -- -E
 * run: nobody_blocks fail -DREADS -DNOBODY_BLOCKS -- -E
 * run: no_successor fail -DREADS -DHOG -DNO_SUCCESSOR -- -E
 * run: passive_looks_away fail -DADDS -DHOG -DPASSIVE_LOOKS_AWAY -- -E
 */
#define NP 2
#ifndef NM
#define NM 2
#endif
#define NONE 7
#define NEVER 7
#if defined(SUBMITS) || defined(SOON) /* large enough as it is: all in the first tick */
#define LAST 1
#define LATER false
#else
#define LAST 2
#define LATER (now >= 1)
#endif
#ifdef READS
#define SOMEBODY_READS registered /* before that it is scheduler.pml's business */
#else
#define SOMEBODY_READS true
#endif

/* Goroutines. */
#define READER 0
#define SLEEPER 1
#define WORKER 2
#define CALLED 3 /* by the plain thread's timer */
#define HOGG 4

/* States of a note. */
#define EMPTY 0
#define SLEEPING 1
#define SIGNALLED 2
#define ELSEWHERE 3

#define BIT(i) (1 << (i))
#define IDLE_COUNT ((idle_set & 1) + (idle_set >> 1))
#define ANOTHER_IS_BUSY (IDLE_COUNT + 1 < NP)
#define NEXT_TIMER (timer[0] < timer[1] -> timer[0] : timer[1])

#ifdef READS
#define READER_SET BIT(READER)
#else
#define READER_SET 0
#endif
#ifdef SLEEPS
#define SLEEPER_SET BIT(SLEEPER)
#else
#define SLEEPER_SET 0
#endif
#ifdef SUBMITS
#define WORKER_SET BIT(WORKER)
#else
#define WORKER_SET 0
#endif
#ifdef ADDS
#define CALLED_SET BIT(CALLED)
#else
#define CALLED_SET 0
#endif
#ifdef HOG
#define HOG_SET BIT(HOGG)
#else
#define HOG_SET 0
#endif
#ifdef SILENT /* nothing ever arrives */
#define SERVED 0
#else
#define SERVED READER_SET
#endif
#define OTHERS (SERVED | SLEEPER_SET | WORKER_SET | CALLED_SET)
#define ALL (OTHERS | HOG_SET)

byte now;
byte done;

/* The idle word. */
byte idle_set = 3;
byte spinning;
bool passive;

byte queue;
byte next_p[NM] = NONE;
bool next_spinning[NM];
byte note[NM];
byte idle_ms = (1 << NM) - 1;

byte timer[2] = NEVER; /* the sleeper's, the plain thread's */
byte poller_m = NONE, poller_until;
byte passive_m = NONE, passive_until;

/* The network. */
bool registered;
byte waiting;
byte blocked = NONE;
bool looking;
bool gate_ready, gate_waiting;

/* The kernel. */
bool added, data, reported_next, bell;

bool slept; /* the sleeper has begun */
byte late; /* ticks that a ready descriptor has waited */

hidden byte y; /* within one step only */

inline take_lowest(set, into) {
  into = (set & 1 -> 0 : (set & 2 -> 1 : (set & 4 -> 2 : (set & 8 -> 3 : (set & 16 -> 4 : NONE)))));
  set = set & (set - 1)
}

/* --- waking; `x` and `b` are variables of the process --- */

inline signal_machine(m) {
  atomic { b = note[m]; note[m] = SIGNALLED }
#ifndef NO_BREAK
  if
  :: b == ELSEWHERE -> bell = 1
  :: else
  fi;
#endif
  b = 0
}
inline start_machine(q, as_spinner) {
  atomic {
    assert(idle_ms != 0);
    if
    :: idle_ms & 1 -> y = 0
    :: idle_ms & 2 -> y = 1
#if NM > 2
    :: idle_ms & 4 -> y = 2
#endif
    fi;
    idle_ms = idle_ms & (255 - BIT(y));
    next_spinning[y] = as_spinner;
    next_p[y] = q;
    x = y
  }
  signal_machine(x)
}
inline wake_one() {
  atomic {
    if
    :: idle_set != 0 && spinning == 0 -> take_lowest(idle_set, x); spinning++
    :: else -> x = NONE
    fi
  }
  if
  :: x != NONE -> start_machine(x, 1)
  :: else
  fi;
  x = 0
}
inline wake_passive() {
  atomic { b = passive; passive = 0 }
  x = (b -> passive_m : NONE);
  b = 0;
  if
  :: x != NONE -> signal_machine(x)
  :: else
  fi;
  x = 0
}
inline wake_for_queued_work() {
  if
  :: passive -> wake_passive()
  :: !passive && idle_set != 0 && spinning == 0 -> wake_one()
  :: else
  fi
}
inline inject(gs) {
  queue = queue | gs;
  wake_for_queued_work()
}
/* The timer is in its heap. */
inline timer_added(when, by_thread) {
#ifndef NO_TIMER_BREAK
  if
  :: passive_m != NONE && when < passive_until -> wake_passive()
  :: else
  fi;
  x = poller_m;
  if
  :: x != NONE && when < poller_until -> signal_machine(x)
  :: else
  fi;
  if
  :: by_thread && x == NONE && idle_set != 0 && spinning == 0 -> wake_one()
  :: else
  fi;
  x = 0
#else
  skip
#endif
}
inline network_registered() {
#ifndef NOT_TOLD
  if
  :: idle_set != 0 && spinning == 0 && blocked == NONE -> wake_one()
  :: else
  fi
#else
  skip
#endif
}

/* --- the netpoller --- */

/* Descriptor::notify(), after epoll_wait has said so; the gate itself is relacy's. */
inline notify() {
  atomic {
    if
    :: event && gate_waiting ->
#ifndef THREAD_READS
       got = 1;
#endif
       gate_waiting = 0
    :: event && !gate_waiting -> gate_ready = 1
    :: else
    fi;
    event = 0
  }
}
/* What became runnable is in the queue: got. */
inline poll_network() {
  if
  :: waiting != 0 ->
     atomic {
       if
       :: !looking -> looking = 1; x = 1
       :: else -> x = 0
       fi
     }
     if
     :: x ->
        atomic {
#ifdef EATS_THE_BELL
          bell = 0;
#endif
          event = reported_next;
          reported_next = 0
        }
        notify();
        looking = 0;
        if
        :: got -> queue = queue | BIT(READER); got = 0
        :: else
        fi
     :: else
     fi;
     x = 0
  :: else
  fi
}
/* Sleeps until signalled, or until `limit`; if it watches, also until something happens on a descriptor: got. */
inline wait_for_bell(watches, limit) {
  atomic {
    if
    :: watches && blocked == NONE -> blocked = me; x = 1
    :: else -> x = 0
    fi
  }
  if
  :: x ->
     atomic { /* Note::begin_elsewhere() */
#ifdef NO_LOOK_AT_THE_NOTE
       note[me] = ELSEWHERE
#else
       if
       :: note[me] == SIGNALLED -> note[me] = EMPTY; x = 0
       :: else -> note[me] = ELSEWHERE
       fi
#endif
     }
     if
     :: x ->
        atomic { /* epoll_pwait2 */
          (reported_next || bell || now >= limit) ->
          event = reported_next;
          reported_next = 0;
          b = bell
        }
        if
        :: b -> bell = 0
        :: else
        fi;
        b = 0;
        notify();
        note[me] = EMPTY /* end_elsewhere() */
     :: else
     fi;
     blocked = NONE
  :: else ->
     atomic {
       if
       :: note[me] == SIGNALLED
       :: else -> note[me] = SLEEPING
       fi
     }
     atomic { /* futex_wait */
       (note[me] == SIGNALLED || now >= limit) -> note[me] = EMPTY
     }
  fi;
  x = 0
}

/* --- the threads of the runtime --- */

inline accept_processor() {
  p = next_p[me];
  spins = next_spinning[me];
  next_p[me] = NONE;
  next_spinning[me] = 0
}
/* Takes an idle P, if the M is still on the idle list: p. */
inline come_back() {
  atomic {
    if
    :: (idle_ms & BIT(me)) && idle_set != 0 ->
       take_lowest(idle_set, p);
       idle_ms = idle_ms & (255 - BIT(me));
       spins = 1;
       spinning++
    :: else
    fi
  }
}

proctype M(byte me) {
  byte p = NONE, g = NONE, until = NEVER, x, b;
  bool spins, polls, may_poll, watches, event, got;

wait_for_processor:
  may_poll = 1;
next_round:
  atomic {
    if
    :: next_p[me] != NONE -> accept_processor(); may_poll = 0; goto find_runnable
    :: else
    fi
  }
  /* become_poller() */
  if
  :: may_poll && NEXT_TIMER != NEVER ->
#ifdef TIMERS_BEFORE_SEAT
     until = NEXT_TIMER;
#endif
     atomic {
       if
       :: poller_m == NONE -> poller_m = me; polls = 1
       :: else
       fi
     }
     if
     :: polls ->
        poller_until = NEVER;
#ifndef TIMERS_BEFORE_SEAT
        until = NEXT_TIMER;
#endif
        poller_until = until
     :: else -> until = NEVER
     fi
  :: else
  fi;
#ifndef NOBODY_BLOCKS
  watches = (registered && (IDLE_COUNT == NP || (IDLE_COUNT > 0 && spinning == 0))); /* should_watch_network() */
#endif
  wait_for_bell(watches, until);
  atomic { watches = 0; until = NEVER }
#ifndef KEEPS_THE_SEAT
  if
  :: polls -> poller_m = NONE
  :: else
  fi;
#endif
  if
  :: got ->
     if
     :: next_p[me] == NONE -> come_back()
     :: else
     fi;
     if
     :: p != NONE ->
        atomic { queue = queue | BIT(READER); got = 0; polls = 0; may_poll = 0 }
        goto find_runnable
     :: else -> got = 0; inject(BIT(READER))
     fi
  :: else
  fi;
  if
  :: next_p[me] == NONE && polls && NEXT_TIMER <= now ->
     come_back();
     if
     :: p != NONE -> polls = 0; may_poll = 0; goto find_runnable
     :: else -> may_poll = 0; wake_passive()
     fi
  :: else
  fi;
  polls = 0;
  goto next_round;

find_runnable:
  atomic { /* run_due_timers() */
    if
    :: timer[0] <= now -> timer[0] = NEVER; queue = queue | BIT(SLEEPER); x = 1
    :: else
    fi;
    if
    :: timer[1] <= now -> timer[1] = NEVER; queue = queue | BIT(CALLED); x = 1
    :: else
    fi
  }
  if
  :: x -> x = 0; wake_for_queued_work()
  :: x -> x = 0 /* a sleeper known to do a little only: nobody is woken */
  :: !x
  fi;
  atomic { take_lowest(queue, g) }
  if
  :: g == NONE ->
     poll_network();
     atomic { take_lowest(queue, g) }
  :: else
  fi;
  if
  :: g != NONE -> goto leave_with
  :: else
  fi;
  atomic {
    if
    :: !spins && 2 * spinning < NP - IDLE_COUNT -> spins = 1; spinning++
    :: else
    fi
  }
  atomic { /* spin() */
    take_lowest(queue, g);
    if
    :: g != NONE -> goto leave_with
    :: else
    fi
  }
  atomic { /* PassiveWatch::claim() */
    if
    :: spins && ANOTHER_IS_BUSY && passive_m == NONE -> passive_m = me; goto passive_watch
    :: else
    fi
  }

  /* retire() */
  atomic {
    if
    :: spins && spinning == 1 && ANOTHER_IS_BUSY -> goto find_runnable /* W2 */
    :: else ->
       idle_set = idle_set | BIT(p);
       spinning = spinning - spins;
       spins = 0;
       idle_ms = idle_ms | BIT(me);
       p = NONE
    fi
  }
  if
  :: queue != 0 ->
     come_back();
     if
     :: p != NONE -> goto find_runnable
     :: else
     fi
  :: else
  fi;
  goto wait_for_processor;

passive_watch:
  passive_until = 0;
  passive = 1;
  if
  :: queue != 0 -> goto passive_over
  :: else
  fi;
passive_sleep:
  passive_until = now + 1;
#ifdef PASSIVE_LOOKS_AWAY
  until = LAST + 1;
#else
  until = NEXT_TIMER;
  until = (until < passive_until -> until : passive_until);
#endif
  passive_until = until;
  if
  :: passive ->
     if
     :: registered && blocked == NONE -> watches = 1
     :: true /* somebody has looked a moment ago */
     fi;
     wait_for_bell(watches, until);
     watches = 0;
     if
     :: got -> queue = queue | BIT(READER); got = 0
     :: else
     fi
  :: else
  fi;
  until = NEVER;
  if
  :: !passive -> goto passive_over
  :: else
  fi;
  atomic { take_lowest(queue, g) }
  if
  :: g == NONE && registered && blocked == NONE ->
     poll_network();
     atomic { take_lowest(queue, g) }
  :: else
  fi;
  if
  :: g == NONE && NEXT_TIMER > now && ANOTHER_IS_BUSY -> goto passive_sleep
  :: else
  fi;
passive_over:
  passive = 0;
  passive_m = NONE;
  if
  :: g == NONE -> goto find_runnable
  :: else
  fi;

leave_with:
  atomic {
    x = (spins && spinning == 1 && idle_set != 0);
    spinning = spinning - spins;
    spins = 0
  }
#ifndef NO_SUCCESSOR
  if
  :: x -> wake_one()
  :: else
  fi;
#endif
  x = 0;

  /* The goroutine. */
  if
  :: g == HOGG ->
     (done == OTHERS); /* computes */
     goto ends
#ifndef THREAD_READS
  :: g == READER ->
     if
     :: registered -> waiting--; goto ends /* it has waited */
     :: else
     fi;
     registered = 1;
     atomic { added = 1; reported_next = data }
     network_registered();
     waiting++;
     atomic { /* PollGate::begin_wait() */
       if
       :: gate_ready -> gate_ready = 0
       :: else -> gate_waiting = 1; g = NONE; goto find_runnable
       fi
     }
     waiting--;
     goto ends
#endif
  :: g == SLEEPER ->
     atomic {
       if
       :: slept -> goto ends
       :: else -> slept = 1; timer[0] = 2
       fi
     }
     timer_added(2, 0);
     g = NONE;
     goto find_runnable
  :: else
  fi;
ends:
  atomic {
    done = done | BIT(g);
    g = NONE;
    goto find_runnable
  }
}


/* --- the world outside: at any moment, some of it also after the first tick --- */

#if defined(READS) && !defined(SILENT)
active proctype peer() {
  if
  :: true
  :: LATER
  fi;
  atomic { data = 1; reported_next = added }
}
#endif
#ifdef THREAD_READS
active proctype thread_that_reads() {
  byte x, b;
  if
  :: true
  :: LATER
  fi;
  registered = 1;
  atomic { added = 1; reported_next = data }
  network_registered();
  waiting++;
  atomic {
    if
    :: gate_ready -> gate_ready = 0
    :: else -> gate_waiting = 1
    fi
  }
  !gate_waiting;
  atomic { waiting--; done = done | BIT(READER) }
}
#endif
#ifdef SUBMITS
active proctype thread_that_submits() {
  byte x, b;
  SOMEBODY_READS;
  inject(BIT(WORKER))
}
#endif
#ifdef ADDS
active proctype thread_that_sets_a_timer() {
  byte x, b;
  SOMEBODY_READS;
  timer[1] = 1;
  timer_added(1, 1)
}
#endif

active proctype starter() {
  byte x, b;
#ifndef THREAD_READS
  inject(READER_SET | SLEEPER_SET)
#else
  inject(SLEEPER_SET)
#endif
}
#ifdef HOG
active proctype thread_that_starts_the_hog() {
  byte x, b;
  SOMEBODY_READS;
  inject(BIT(HOGG))
}
#endif

active proctype clock() {
  do
  :: atomic {
       timeout ->
       assert(NEXT_TIMER > now);
       assert(queue == 0 || idle_set == 0);
       assert(next_p[0] == NONE && next_p[NM - 1] == NONE);
       if
       :: reported_next && waiting != 0 ->
          assert(passive_m != NONE && late == 0);
          late++
       :: else -> late = 0
       fi;
       if
       :: now < LAST -> now++
       :: else -> break
       fi
     }
  od;
  assert(done == ALL)
}

init {
  atomic {
    run M(0);
    run M(1);
#if NM > 2
    run M(2)
#endif
  }
}
