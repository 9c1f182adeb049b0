/* SPDX-License-Identifier: MIT
 * Exiles: goroutines that lose their P to a signal and compute on (sched/core/preempt.cc, sched/core/handoff.cc, service/sysmon.cc). Two Ps, three Ms,
 * two hogs that compute until the worker has run, sysmon, and one who stops the world, in every interleaving. The signal may come
 * between any two steps, in user code or inside the runtime, on time or late.
 *
 *   Safety    a P is used by one M at a time, also by code of the runtime that a signal interrupts; never more exiles than the limit;
 *             a goroutine that keeps its thread (foreign_frames.h) is run by no other; a stopped world has no P in use.
 *   Holding   (HOLD, sched/core/hold.h) while the world is stopped, no exile takes a step of user code. It may refuse to
 *             be held, as in the C library, and is asked again; it may come back to the runtime instead. The second
 *             stop begins while it is about to leave the first.
 *   Progress  nothing comes to rest before everybody has ended: the worker runs although every P has its hog.
 *   Left out  how Ms sleep and wake (scheduler.pml): submitting wakes at once, and sysmon helps.
 *
 * Each mutant leaves one thing out, and must be found out:
 *
 * run: one_p pass -DNP=1
 * run: two_p pass -DNP=2
 * run: limit pass -DNP=2 -DLIMIT=1 -DHOGS_END
 * run: kept pass -DNP=1 -DKEEP
 * run: kept_two_p pass -DNP=2 -DKEEP
 * run: stopped pass -DNP=1 -DSTOP
 * run: stopped_kept pass -DNP=1 -DSTOP -DKEEP
 * run: no_look_at_the_stack fail -DNP=1 -DNO_LOOK_AT_THE_STACK
 * run: no_word_check fail -DNP=1 -DNO_WORD_CHECK
 * run: no_word_check_stopped fail -DNP=2 -DSTOP -DNO_WORD_CHECK
 * run: no_retake fail -DNP=2 -DNO_RETAKE
 * run: no_signal fail -DNP=2 -DNO_SIGNAL
 * run: sender_counts fail -DNP=2 -DLIMIT=1 -DHOGS_END -DSENDER_COUNTS
 * run: no_return fail -DNP=1 -DNO_RETURN
 * run: held pass -DNP=1 -DSTOP -DHOLD
 * run: held_two_p pass -DNP=2 -DSTOP -DHOLD -DFEW
 * run: held_twice pass -DNP=1 -DSTOP -DHOLD -DSTOPS=2 -DFEW
 * run: nobody_held fail -DNP=1 -DSTOP -DHOLD -DNOT_HELD
 * run: not_waited_for fail -DNP=1 -DSTOP -DHOLD -DNOT_WAITED_FOR
 * run: asked_once fail -DNP=1 -DSTOP -DHOLD -DASKED_ONCE
 * run: not_let_go fail -DNP=1 -DSTOP -DHOLD -DNOT_LET_GO
 * run: leaves_without_cas fail -DNP=1 -DSTOP -DHOLD -DSTOPS=2 -DFEW -DNO_CAS
 * run: kept_run_elsewhere fail -DNP=2 -DKEEP -DRUN_ELSEWHERE
 */
#ifndef LIMIT
#define LIMIT 2
#endif
#define NM 3
#define NG 3
#define NONE 7

#define WORKER 2 /* 0 and 1 are the hogs */
#define IS_HOG(x) ((x) < WORKER)
#define ALL_DONE (done[0] && done[1] && done[WORKER])

/* Values of a P's word; IN_CALL + m: left behind by that M. */
#define P_IDLE 0
#define P_RUNNING 1
#define P_STOPPED 2
#define IN_CALL 3
#define BIT(i) (1 << (i))

byte word[NP];
byte holder[NP] = NONE;  /* no part of the scheduler: who uses this P */
byte user_of[NP] = NONE; /* p.m: whom sysmon asks; may be out of date */
bool attention[NP];
bool stop_wanted[NP];
byte idle_ps = (1 << NP) - 1;
byte idle_ms = (1 << NM) - 1;
byte queue; /* runnable goroutines */

byte next_p[NM] = NONE;
byte next_g[NM] = NONE;
bool signalled[NM];
byte kept_by[NG] = NONE;
byte exiles;
bool done[NG];
bool called[NG]; /* the hog has made its call of the runtime in between */
bool out[NG];    /* without a P: may not touch one */

bool world_stopping;
byte stop_wait;
bool world_stopped;
bool refused[NM];

#ifndef STOPS
#define STOPS 1
#endif
#define WANTED 1 /* Hold::word: one reason, and kHeld */
#define HELD 2
bool exiled[NM];
byte hold[NM];

hidden byte y, z; /* within one step only */

inline take_lowest(set, into) {
  into = (set & 1 -> 0 : (set & 2 -> 1 : (set & 4 -> 2 : (set & 8 -> 3 : NONE))));
  set = set & (set - 1)
}
inline acquire(q, m) {
  assert(holder[q] == NONE && word[q] != P_RUNNING && !world_stopped);
  holder[q] = m;
  user_of[q] = m;
  word[q] = P_RUNNING
}
inline release(q, m, status) {
  assert(holder[q] == m && word[q] == P_RUNNING);
  holder[q] = NONE;
  word[q] = status
}
/* The caller owns q, which nobody uses. */
inline hand_off(q) {
  if
  :: world_stopping && stop_wanted[q] -> word[q] = P_STOPPED; stop_wait--
  :: else ->
     if
     :: queue != 0 && idle_ms != 0 -> take_lowest(idle_ms, y); word[q] = P_IDLE; next_p[y] = q
     :: else -> word[q] = P_IDLE; idle_ps = idle_ps | BIT(q)
     fi
  fi
}
inline submit(x) {
  queue = queue | BIT(x);
  if
  :: idle_ps != 0 && idle_ms != 0 -> take_lowest(idle_ps, z); take_lowest(idle_ms, y); next_p[y] = z
  :: else
  fi
}

#ifdef HOLD
/* stay_while_held(). A thread that waits on the futex has nothing to do until the word changes. */
inline stay_while_held() {
  do
#ifdef NO_CAS
  :: !(hold[me] & WANTED) -> hold[me] = 0; break
#else
  :: atomic { !(hold[me] & WANTED) -> hold[me] = 0; break }
#endif
  :: atomic { hold[me] == WANTED -> hold[me] = WANTED | HELD }
  od
}
#define USER_STEP assert(!world_stopped)
#else
#define USER_STEP skip
#endif

/* on_preempt_signal(): on the interrupted thread, between two of its steps. What others see of it is the word. */
inline handle_signal(inside_runtime) {
  atomic {
    signalled[me] = 0;
    if
    :: p == NONE || !attention[p] /* too late */
#ifndef NO_LOOK_AT_THE_STACK
    :: p != NONE && attention[p] && inside_runtime /* refused */
    :: p != NONE && attention[p] && !inside_runtime ->
#else
    :: p != NONE && attention[p] ->
#endif
       if
#ifdef SENDER_COUNTS
       :: true ->
#else
       :: exiles >= LIMIT /* count_exile() */
       :: exiles < LIMIT ->
#endif
          exiles++;
          assert(exiles <= LIMIT);
          out[g] = 1; /* leave_processor_in_call() */
          exiled[me] = 1;
          call_p = p;
          p = NONE;
          release(call_p, me, IN_CALL + me)
       fi
    fi
  }
}

proctype M(byte me) {
  byte p = NONE, g = NONE, call_p = NONE, x;

asleep:
end_asleep:
  atomic {
    next_p[me] != NONE ->
    p = next_p[me];
    g = next_g[me];
    next_p[me] = NONE;
    next_g[me] = NONE;
    acquire(p, me);
    if
    :: g != NONE -> goto runs
    :: else -> goto find
    fi
  }

find:
  atomic {
    g = NONE;
    if
    :: stop_wanted[p] ->
       release(p, me, P_STOPPED);
       stop_wait--;
       p = NONE;
       idle_ms = idle_ms | BIT(me);
       goto asleep
    :: !stop_wanted[p] && queue != 0 ->
       attention[p] = 0;
       take_lowest(queue, g);
       if
#ifdef RUN_ELSEWHERE
       :: false
#else
       :: kept_by[g] != NONE && kept_by[g] != me -> /* hand_to_locked_machine() */
#endif
          release(p, me, P_IDLE);
          next_g[kept_by[g]] = g;
          next_p[kept_by[g]] = p;
          g = NONE;
          p = NONE;
          idle_ms = idle_ms | BIT(me);
          goto asleep
       :: else -> goto runs
       fi
    :: else ->
       release(p, me, P_IDLE);
       idle_ps = idle_ps | BIT(p);
       p = NONE;
       idle_ms = idle_ms | BIT(me);
       goto asleep
    fi
  }

runs:
  atomic {
    assert(holder[p] == me && (kept_by[g] == NONE || kept_by[g] == me));
    kept_by[g] = NONE;
    out[g] = 0;
    if
    :: g == WORKER -> done[g] = 1; goto find
    :: else
    fi
  }

compute: /* user code without checks */
  do
#ifdef HOLD
  :: signalled[me] && exiled[me] && hold[me] != 0 ->
     signalled[me] = 0;
     if
     :: true -> stay_while_held()
     :: refused[me] == 0 -> refused[me] = 1 /* in the C library, once */
     fi
  :: signalled[me] && !(exiled[me] && hold[me] != 0) -> handle_signal(false)
#else
  :: signalled[me] -> handle_signal(false)
#endif
  :: atomic { !called[g] -> USER_STEP; called[g] = 1; break }
#ifdef HOGS_END
  :: break /* it may have been enough */
#else
  :: atomic { done[WORKER] -> USER_STEP; break }
#endif
  od;

  /* A call of the runtime; the last one is the hog's end. */
  if
  :: p == NONE -> /* return_from_exile() */
#ifdef NO_RETURN
     goto inside;
#endif
     atomic { exiles--; exiled[me] = 0; x = call_p; call_p = NONE }
     atomic {
       if
#ifdef NO_WORD_CHECK
       :: true ->
          holder[x] = (holder[x] == NONE -> me : holder[x]);
          assert(holder[x] == me && !world_stopped);
          word[x] = P_RUNNING; p = x; x = 0; out[g] = 0; goto inside
#else
       :: word[x] == IN_CALL + me -> acquire(x, me); p = x; x = 0; out[g] = 0; goto inside
       :: else -> x = 0
#endif
       fi
     }
     atomic { /* leave_without_processor(): an idle P */
       take_lowest(idle_ps, x);
       if
       :: x != NONE -> acquire(x, me); p = x; x = 0; out[g] = 0; goto inside
       :: else -> x = 0
       fi
     }
     atomic {
#ifdef KEEP
       kept_by[g] = me;
       submit(g);
       g = NONE;
       goto asleep /* not among the idle Ms: it waits for its goroutine */
#else
       idle_ms = idle_ms | BIT(me);
       submit(g);
       g = NONE;
       goto asleep
#endif
     }
  :: else
  fi;

inside: /* what a signal may interrupt, and must not take the P from */
  assert(!out[g] && p != NONE && holder[p] == me);
  if
  :: signalled[me] -> handle_signal(true)
  :: true
  fi;
  assert(!out[g] && p != NONE && holder[p] == me);
  atomic {
#ifdef HOGS_END
    done[g] = 1;
    goto find
#else
    if
    :: done[WORKER] -> done[g] = 1; goto find
    :: stop_wanted[p] -> queue = queue | BIT(g); goto find /* a scheduling point */
    :: else -> goto compute
    fi
#endif
  }
}

/* Each of these changes something, so that it never keeps itself from doing the others. */
active proctype sysmon() {
  byte seen;
end_watching:
  do
#ifndef NO_RETAKE
  :: atomic { word[0] >= IN_CALL -> seen = word[0] }
     atomic { /* take_from_call(): in between it may have come back, and gone again */
       if
       :: word[0] == seen -> hand_off(0)
       :: else
       fi;
       seen = 0
     }
#if NP > 1
  :: atomic { word[1] >= IN_CALL -> seen = word[1] }
     atomic {
       if
       :: word[1] == seen -> hand_off(1)
       :: else
       fi;
       seen = 0
     }
#endif
#endif
#ifndef NO_SIGNAL
  :: atomic { /* a slice is over */
       word[0] == P_RUNNING && !attention[0] && (queue != 0 || stop_wanted[0]) -> attention[0] = 1
     }
  :: atomic { /* it may reach a goroutine that came later, or the same M without a P */
       attention[0] && word[0] == P_RUNNING && exiles < LIMIT && !signalled[user_of[0]] -> signalled[user_of[0]] = 1
     }
#if NP > 1
  :: atomic { word[1] == P_RUNNING && !attention[1] && (queue != 0 || stop_wanted[1]) -> attention[1] = 1 }
  :: atomic { attention[1] && word[1] == P_RUNNING && exiles < LIMIT && !signalled[user_of[1]] -> signalled[user_of[1]] = 1 }
#endif
#endif
  :: atomic { /* help_neglected_work() */
       !world_stopping && queue != 0 && idle_ps != 0 && idle_ms != 0 ->
       take_lowest(idle_ps, z);
       take_lowest(idle_ms, y);
       next_p[y] = z
     }
  od
}

#ifdef HOLD
#define SETTLED(m) (!exiled[m] || hold[m] == (WANTED | HELD))
/* ask_exiles(), for one of them: the last signal has been seen, and it is not held. */
inline ask_to_hold(m) {
#ifdef ASKED_ONCE
  atomic { exiled[m] && hold[m] == 0 -> hold[m] = WANTED; signalled[m] = 1 }
#else
  atomic { exiled[m] && hold[m] != (WANTED | HELD) && (!(hold[m] & WANTED) || !signalled[m]) ->
           signalled[m] = (hold[m] & HELD -> signalled[m] : 1);
           hold[m] = hold[m] | WANTED }
#endif
}
#endif

#ifdef STOP
active proctype stopper() {
  byte q, stops;
again:
  atomic {
    stop_wait = NP;
    world_stopping = 1
  }
  do
  :: stop_wait != 0 ->
     q = 0;
     do
     :: q < NP ->
        atomic {
          if
          :: word[q] != P_STOPPED ->
             stop_wanted[q] = 1;
             attention[q] = 1;
             if
             :: word[q] >= IN_CALL -> word[q] = P_STOPPED; stop_wait--
             :: idle_ps & BIT(q) -> idle_ps = idle_ps & (255 - BIT(q)); word[q] = P_STOPPED; stop_wait--
             :: else
             fi
          :: else
          fi;
          q++
        }
     :: else -> break
     od;
     q = 0;
     /* until something has changed that asking again can use, or it is over */
     (stop_wait == 0 || idle_ps != 0 || word[0] >= IN_CALL || word[NP - 1] >= IN_CALL)
  :: stop_wait == 0 -> break
  od;
#if defined(HOLD) && !defined(NOT_HELD)
  do /* hold_exiles() */
  :: ask_to_hold(0)
  :: ask_to_hold(1)
  :: ask_to_hold(2)
#ifdef NOT_WAITED_FOR
  :: break
#else
  :: atomic { SETTLED(0) && SETTLED(1) && SETTLED(2) -> break }
#endif
  od;
#endif
  atomic {
    world_stopped = 1;
    assert(holder[0] == NONE && holder[NP - 1] == NONE && idle_ps == 0)
  }
  atomic { /* start_the_world() */
    world_stopped = 0;
    world_stopping = 0;
    q = 0;
    do
    :: q < NP -> stop_wanted[q] = 0; attention[q] = 0; hand_off(q); q++
    :: else -> break
    od;
    q = 0
  }
#if defined(HOLD) && !defined(NOT_LET_GO)
  atomic { /* let_exiles_go() */
    hold[0] = hold[0] & HELD;
    hold[1] = hold[1] & HELD;
    hold[2] = hold[2] & HELD
  }
#endif
  stops++;
  if
  :: stops < STOPS -> goto again
  :: else
  fi
}
#endif

init {
  atomic {
    run M(0);
    run M(1);
    run M(2);
    submit(0);
#ifdef FEW
    done[1] = 1;
#else
    submit(1);
#endif
    submit(WORKER)
  }
}

active proctype nothing_moves_any_more() {
  timeout;
  assert(ALL_DONE)
}
