/* SPDX-License-Identifier: MIT
 * Spinning, retiring, blocking calls and stopping the world: two Ps, three Ms, three goroutines, sysmon, a plain thread that
 * submits work and one that stops the world, in every interleaving. Names are those of sched/ (search.cc, machines.cc,
 * handoff.cc, world.cc) and service/sysmon.cc. Memory orders are relacy's business (the *_test.cc files beside this one).
 *
 *   Safety    a P is wired to one M at a time (S1), spinners never outnumber Ps (S3), a stopped world has nobody in it, and
 *             nothing comes to rest before every goroutine has ended.
 *   Liveness  every goroutine is run and ends, if every thread that can go on goes on some time (weak fairness).
 *   Work      the parent readies the child into its slot or its queue and waits for it, computing or in a blocking call; the
 *             caller is in a blocking call until the child has run. So the child must be found wherever it is, by whoever
 *             is left. PAIR: two goroutines of the plain thread, one of which computes until the other has run.
 *             BRIEF: whoever leaves the search may hold what it found for brief, a sleeper's usual turn, wrongly.
 *             APART: whoever searches may retreat, if another P is busy: gives its work to that P and leaves all that others have alone,
 *             but for what has not moved (retreat.h).
 *   Steps     with FINE one atomic operation of the source, or what it does under machines_lock, is one step; without, what
 *             one thread does between two publications is.
 *
 * Each mutant leaves one thing out, and must be found out:
 *
 * run: fine pass -DFINE
 * run: with_caller pass -DWITH_CALLER
 * run: both_call pass -DBOTH_CALL
 * run: stopped pass -DSTOP
 * run: liveness pass -DLIVENESS -- -a -f
 * run: liveness_with_caller pass -DLIVENESS -DWITH_CALLER -- -a -f
 * run: liveness_pair pass -DLIVENESS -DPAIR -- -a -f
 * run: brief pass -DFINE -DPAIR -DBRIEF
 * run: brief_with_caller pass -DWITH_CALLER -DBRIEF
 * run: liveness_brief pass -DLIVENESS -DPAIR -DBRIEF -- -a -f
 * run: apart pass -DAPART
 * run: apart_with_caller pass -DAPART -DWITH_CALLER
 * run: apart_pair pass -DAPART -DPAIR
 * run: liveness_apart pass -DLIVENESS -DAPART -DPAIR -- -a -f
 * run: apart_without_spinner fail -DAPART -DWITH_CALLER -DNO_SPINNER_LEFT
 * run: no_second_look fail -DNO_SECOND_LOOK
 * run: no_second_look_liveness fail -DLIVENESS -DNO_SECOND_LOOK -- -a -f
 * run: no_successor fail -DPAIR -DNO_SUCCESSOR
 * run: no_look_after_brief fail -DPAIR -DBRIEF -DNO_LOOK_AFTER_BRIEF
 * run: no_passive_watch fail -DNO_PASSIVE_WATCH -DNO_SLOT_WATCH
 * run: no_slot_watch fail -DWITH_CALLER -DNO_SLOT_WATCH
 * run: no_retake fail -DBOTH_CALL -DNO_RETAKE
 * run: no_slot_rescue fail -DBOTH_CALL -DNO_SLOT_RESCUE
 * run: no_asking_again fail -DSTOP -DNO_ASKING_AGAIN
 * run: no_spinner_bound fail -DNO_SPINNER_BOUND
 * run: no_word_check fail -DNO_WORD_CHECK
 */
#define NP 2
#define NM 3
#define NG 3
#define NONE 7

/* Goroutines. */
#define PARENT 0
#define CHILD 1
#define CALLER 2
#ifdef PAIR
#define AWAITED CALLER
#else
#define AWAITED CHILD
#endif
#if defined(WITH_CALLER) || defined(BOTH_CALL) || defined(PAIR)
#define ALL_DONE (done[PARENT] && done[CHILD] && done[CALLER])
#else
#define ALL_DONE (done[PARENT] && done[CHILD])
#endif

/* Values of a P's word; IN_CALL + m: its M is in a call. */
#define P_IDLE 0
#define P_RUNNING 1
#define P_STOPPED 2
#define IN_CALL 3

#define BIT(i) (1 << (i))
#define OTHER(q) (1 - (q))
#define IDLE_COUNT ((idle_set & 1) + (idle_set >> 1))
#define ANOTHER_IS_BUSY (IDLE_COUNT + 1 < NP)
#define WORK_EXISTS (injected != 0 || queue[0] != 0 || queue[1] != 0)

#ifdef FINE
#define TOGETHER
#else
#define TOGETHER atomic
#endif

/* The idle word. */
byte idle_set = 3;
byte spinning;
bool passive;

byte passive_m = NONE;
byte slot[NP] = NONE;
byte queue[NP];
byte injected;
byte word[NP];
bool attention[NP];
bool moved[NP]; /* dispatched since the passive spinner last looked */

byte next_p[NM] = NONE;
bool next_spinning[NM];
bool note[NM];
byte idle_ms = 7;
bool thread_wanted;

bool world_stopping;
byte stop_wait;

bool started;    /* the parent has readied the child */
bool out_of[NG]; /* it is in its call, or on its way out */
bool done[NG];
byte holder[NP] = NONE; /* no part of the scheduler: who believes to be wired to this P */

hidden byte y; /* within one step only */

/* --- parts of a step --- */

inline take_lowest(set, into) {
  into = (set & 1 -> 0 : (set & 2 -> 1 : (set & 4 -> 2 : NONE)));
  set = set & (set - 1)
}
inline acquire(q, m) {
  assert(holder[q] == NONE && word[q] != P_RUNNING);
  holder[q] = m;
  word[q] = P_RUNNING
}
inline release(q, m, status) {
  assert(holder[q] == m && word[q] == P_RUNNING);
  holder[q] = NONE;
  word[q] = status
}
inline count_spinner() {
  spinning++;
  assert(spinning <= NP)
}
inline mark_stopped(q) {
  word[q] = P_STOPPED;
  stop_wait--
}
inline ring_passive() {
  if
  :: passive_m != NONE -> note[passive_m] = 1
  :: else
  fi
}

/* --- steps; `x` is a variable of the process --- */

inline start_machine(q, as_spinner) {
  atomic {
    if
    :: idle_ms != 0 ->
       take_lowest(idle_ms, y);
       next_spinning[y] = as_spinner;
       next_p[y] = q;
       note[y] = 1
    :: else -> /* three is the limit: the P stays idle, and sysmon tries again */
       spinning = spinning - as_spinner;
#ifndef NO_SLOT_RESCUE
       if
       :: slot[q] != NONE -> injected = injected | BIT(slot[q]); slot[q] = NONE
       :: else
       fi;
#endif
       thread_wanted = 1;
       idle_set = idle_set | BIT(q)
    fi
  }
}
inline wake_one() {
  TOGETHER {
    atomic {
      if
      :: idle_set != 0 && spinning == 0 -> take_lowest(idle_set, x); count_spinner()
      :: else -> x = NONE
      fi
    }
    if
    :: x != NONE -> start_machine(x, 1)
    :: else
    fi;
    x = 0
  }
}
inline wake_passive() {
  atomic {
    if
    :: passive -> passive = 0; ring_passive()
    :: else
    fi
  }
}
inline wake_for_queued_work() {
  TOGETHER {
    if
    :: passive -> wake_passive()
    :: !passive && idle_set != 0 && spinning == 0 -> wake_one()
    :: else
    fi
  }
}
inline hand_off(q) {
  TOGETHER {
    if
    :: world_stopping && attention[q] -> atomic { mark_stopped(q) }
    :: else ->
       if
       :: queue[q] != 0 || slot[q] != NONE || injected != 0 -> start_machine(q, 0)
       :: else -> atomic { idle_set = idle_set | BIT(q); looks_again = 1 }
       fi
    fi
  }
  TOGETHER {
    if
    :: looks_again && WORK_EXISTS -> wake_for_queued_work()
    :: else
    fi;
    looks_again = 0
  }
}

/* The passive spinner's timer. Where it is states of rest that are looked for: only when it would change something. */
#ifdef LIVENESS
#define TIMER true
#else
#define TIMER \
  (!passive || queue[OTHER(p)] != 0 || slot[OTHER(p)] != NONE || injected != 0 || attention[p] || !ANOTHER_IS_BUSY)
#endif

/* Retreats are at least 10 ms apart: work is not passed on for ever. */
#ifdef LIVENESS
byte retreats;
#define MAY_RETREAT (retreats < 3)
#else
#define MAY_RETREAT true
#endif

proctype M(byte me) {
  byte p = NONE, g = NONE, x;
  bool spins, looks_again, apart;

wait_for_processor:
  do
  :: atomic {
       next_p[me] != NONE ->
       p = next_p[me];
       spins = next_spinning[me];
       next_p[me] = NONE;
       next_spinning[me] = 0;
       acquire(p, me);
       goto find_runnable
     }
  :: next_p[me] == NONE ->
end_asleep:
     atomic { note[me] -> note[me] = 0 }
  od;

find_runnable:
end_over:
  TOGETHER {
#ifndef STOP
    !ALL_DONE; /* what happens afterwards is of no interest */
#endif
    if
    :: attention[p] -> goto attend
    :: else
    fi;
    apart = 0;
#ifdef APART
    if
    :: ANOTHER_IS_BUSY && MAY_RETREAT ->
       apart = 1;
#ifdef LIVENESS
       retreats++;
#endif
       if
       :: word[OTHER(p)] == P_RUNNING -> /* retreat() */
          atomic {
            queue[OTHER(p)] = queue[OTHER(p)] | queue[p];
            queue[p] = 0;
            if
            :: slot[p] != NONE -> queue[OTHER(p)] = queue[OTHER(p)] | BIT(slot[p]); slot[p] = NONE
            :: else
            fi
          }
          wake_for_queued_work()
       :: true
       fi
    :: true
    fi;
#endif
    atomic { g = slot[p]; slot[p] = NONE }
    if
    :: g == NONE -> atomic { take_lowest(queue[p], g) }
    :: else
    fi;
    if
    :: g == NONE && !apart -> atomic { take_lowest(injected, g) }
    :: else
    fi;
    if
    :: g == NONE && !apart -> atomic { take_lowest(queue[OTHER(p)], g) }
    :: else
    fi;
    if
    :: g != NONE -> goto leave_with
    :: else
    fi;
    atomic {
      if
#ifdef NO_SPINNER_BOUND
      :: !spins -> spins = 1; count_spinner(); count_spinner()
#else
      :: !spins && 2 * spinning < NP - IDLE_COUNT -> spins = 1; count_spinner()
#endif
      :: else
      fi
    }
  }
#ifndef NO_PASSIVE_WATCH
  atomic {
    if
    :: spins && ANOTHER_IS_BUSY && passive_m == NONE -> passive_m = me; goto passive_watch
    :: else
    fi
  }
#endif

  /* retire() */
  atomic {
    if
#ifndef NO_PASSIVE_WATCH
    :: spins && spinning == 1 && ANOTHER_IS_BUSY -> goto find_runnable /* W2 */
#endif
    :: else ->
       release(p, me, P_IDLE);
       idle_set = idle_set | BIT(p);
       spinning = spinning - spins;
       spins = 0;
       idle_ms = idle_ms | BIT(me);
       p = NONE
    fi
  }
#ifndef NO_SECOND_LOOK
  TOGETHER {
    if
#ifdef NO_SPINNER_LEFT
    :: WORK_EXISTS && !apart ->
#else
    :: WORK_EXISTS && !(apart && spinning > 0) ->
#endif
       atomic { /* come_back() */
         if
         :: (idle_ms & BIT(me)) && idle_set != 0 ->
            take_lowest(idle_set, p);
            idle_ms = idle_ms & (255 - BIT(me));
            spins = 1;
            count_spinner();
            acquire(p, me);
            goto find_runnable
         :: else
         fi
       }
    :: else
    fi
  }
#endif
  goto wait_for_processor;

passive_watch:
  atomic {
    moved[0] = 0;
    moved[1] = 0;
    passive = 1
  }
  if
  :: WORK_EXISTS -> goto passive_over
  :: true /* suppressed: sleeps without looking; or there is nothing */
  fi;
passive_sleep:
end_passive:
  if
  :: atomic { passive && note[me] -> note[me] = 0 }
  :: TIMER
  fi;
  TOGETHER {
    if
    :: !passive -> goto passive_over
    :: else
    fi;
    if
    :: !apart || !moved[OTHER(p)] -> atomic { take_lowest(queue[OTHER(p)], g) }
    :: else
    fi;
    atomic {
      if
      :: g == NONE && !moved[OTHER(p)] -> g = slot[OTHER(p)]; slot[OTHER(p)] = NONE
      :: else
      fi
    }
    if
    :: g == NONE && (!apart || !moved[OTHER(p)]) -> atomic { take_lowest(injected, g) }
    :: else
    fi;
    if
    :: g != NONE || attention[p] || !ANOTHER_IS_BUSY -> goto passive_over
    :: else
    fi;
    atomic { moved[0] = 0; moved[1] = 0 }
    goto passive_sleep
  }
passive_over:
  TOGETHER {
    atomic { passive = 0; moved[0] = 0; moved[1] = 0 }
    passive_m = NONE;
    if
    :: g == NONE -> goto find_runnable
    :: else
    fi
  }

leave_with:
  TOGETHER {
    atomic {
      looks_again = (spins && spinning == 1 && idle_set != 0);
      spinning = spinning - spins;
      spins = 0
    }
#ifdef BRIEF
    if
#ifdef NO_LOOK_AFTER_BRIEF
    :: looks_again && queue[p] == 0 && slot[p] == NONE -> looks_again = 0
#else
    :: looks_again && queue[p] == 0 && slot[p] == NONE && !WORK_EXISTS -> looks_again = 0
#endif
    :: true
    fi;
#endif
#ifndef NO_SUCCESSOR
    if
    :: looks_again -> wake_one()
    :: else
    fi;
#endif
    looks_again = 0;
    if
    :: out_of[g] || g == CHILD -> goto ends
    :: g == CALLER && !out_of[g] ->
#ifdef PAIR
       goto ends
#else
       goto blocking_call
#endif
    :: else
    fi;
    if
    :: started -> goto computes
    :: else
    fi
  }

  /* The parent. */
  if
  :: atomic { /* a slot put looks before, not after: place() needs no fence */
       looks_again = (idle_set != 0 && spinning == 0);
       started = 1
     }
     slot[p] = CHILD;
     TOGETHER {
       if
       :: looks_again -> wake_one()
       :: else
       fi;
       looks_again = 0
     }
#ifndef BOTH_CALL
  :: atomic {
       started = 1;
       queue[p] = queue[p] | BIT(CHILD)
     }
     wake_for_queued_work()
#endif
  fi;
  if
#ifndef BOTH_CALL
  :: goto computes
#endif
#ifndef WITH_CALLER
  :: goto blocking_call
#endif
  fi;

computes: /* without ever coming back to the scheduler, except to let the world stop */
  atomic {
    if
    :: done[AWAITED] -> goto ends
    :: attention[p] -> queue[p] = queue[p] | BIT(g); goto attend
    fi
  }

ends:
  atomic {
    done[g] = 1;
    g = NONE;
    moved[p] = (passive_m != NONE);
    goto find_runnable
  }

blocking_call:
  atomic {
    out_of[g] = 1;
    release(p, me, IN_CALL + me)
  }
#ifndef BOTH_CALL
  if
  :: atomic { word[p] == IN_CALL + me -> word[p] = P_IDLE } /* known to make long calls: gives its P away at once */
     hand_off(p)
  :: true
  fi;
#endif
  TOGETHER {
    done[CHILD];
    atomic {
      if
#ifdef NO_WORD_CHECK
      :: true ->
#else
      :: word[p] == IN_CALL + me ->
#endif
         acquire(p, me);
         goto ends
      :: else
      fi
    }
    atomic {
      take_lowest(idle_set, p);
      if
      :: p != NONE -> acquire(p, me); goto ends
      :: else
      fi
    }
    atomic {
      injected = injected | BIT(g);
      g = NONE;
      idle_ms = idle_ms | BIT(me) /* a little early: else a fourth M would be needed meanwhile */
    }
  }
  wake_for_queued_work();
  goto wait_for_processor;

attend:
  atomic {
    g = NONE;
    spinning = spinning - spins;
    spins = 0;
    release(p, me, P_STOPPED);
    stop_wait--;
    p = NONE;
    idle_ms = idle_ms | BIT(me);
    goto wait_for_processor
  }
}

/* Each of these changes something, so that it never keeps itself from doing the others. */
active proctype sysmon() {
  byte x;
  bool looks_again;
end_nothing_to_do:
  do
#ifndef NO_RETAKE
  :: atomic { !world_stopping && word[0] >= IN_CALL -> word[0] = P_IDLE }
     hand_off(0)
  :: atomic { !world_stopping && word[1] >= IN_CALL -> word[1] = P_IDLE }
     hand_off(1)
#endif
  :: atomic { /* retry_wanted_thread() */
       !world_stopping && thread_wanted && WORK_EXISTS && idle_set != 0 && idle_ms != 0 ->
       take_lowest(idle_set, x);
       start_machine(x, 0);
       x = 0;
       thread_wanted = (idle_set != 0)
     }
#ifndef NO_SLOT_WATCH
  :: !world_stopping && idle_set != 0 && spinning == 0 &&
     ((word[0] == P_RUNNING && slot[0] != NONE) || (word[1] == P_RUNNING && slot[1] != NONE)) ->
     wake_one()
#endif
  od
}

active proctype plain_thread() {
  byte x;
#ifdef PAIR
  atomic {
    started = 1;
    done[CHILD] = 1
  }
#endif
#ifdef BOTH_CALL
  injected = BIT(PARENT) | BIT(CALLER);
#else
  injected = injected | BIT(PARENT);
#endif
  wake_for_queued_work();
#if defined(WITH_CALLER) || defined(PAIR)
  injected = injected | BIT(CALLER);
  wake_for_queued_work()
#endif
}

#ifdef STOP
active proctype stopper() {
  byte q, x;
  atomic {
    stop_wait = NP;
    world_stopping = 1
  }
ask_everybody:
  q = 0;
  do
  :: q < NP ->
     atomic {
       if
       :: word[q] != P_STOPPED -> attention[q] = 1
       :: else
       fi;
       if
       :: word[q] >= IN_CALL -> mark_stopped(q)
       :: else
       fi;
       q++
     }
  :: else -> break
  od;
  atomic {
    do
    :: idle_set != 0 ->
       take_lowest(idle_set, y);
       mark_stopped(y)
    :: else -> break
    od
  }
  wake_passive();
#ifndef NO_ASKING_AGAIN
  if
  :: stop_wait == 0
  :: stop_wait != 0 && (idle_set != 0 || word[0] >= IN_CALL || word[1] >= IN_CALL) -> goto ask_everybody
  fi;
#else
  stop_wait == 0;
#endif
  atomic {
    assert(holder[0] == NONE && holder[1] == NONE && word[0] == P_STOPPED && word[1] == P_STOPPED);
    assert(idle_set == 0 && spinning == 0);
    world_stopping = 0;
    attention[0] = 0;
    attention[1] = 0;
    q = 0
  }
  do
  :: q < NP ->
     atomic {
       word[q] = P_IDLE;
       if
       :: queue[q] != 0 || slot[q] != NONE -> start_machine(q, 0)
       :: else -> idle_set = idle_set | BIT(q)
       fi;
       q++
     }
  :: else -> break
  od;
  wake_one()
}
#endif

init {
  atomic {
    run M(0);
    run M(1);
    run M(2)
  }
}

#ifdef LIVENESS
ltl everything_is_run { <> ALL_DONE }
#else
active proctype nothing_moves_any_more() {
  timeout;
  assert(ALL_DONE)
}
#endif
