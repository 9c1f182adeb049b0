/* SPDX-License-Identifier: MIT
 * Far timers (sched/core/timer_watch.h): who has a P adds one without a fence and tells nobody; sysmon reminds the poller, which sleeps past it.
 * One P that is taken, gives itself up and comes back; its store of the heap's next time may stay in the store buffer for as long as there is no
 * locked operation. Names are those of timer_watch.cc, search.cc (retire, become_poller) and service/sysmon.cc.
 *
 *   Safety    nothing comes to rest while a timer is pending that nobody watches, and nobody relies on a sysmon that sleeps deeply.
 *
 * Each mutant leaves one thing out, and must be found out:
 *
 * run: all pass
 * run: not_taken_back fail -DNOT_TAKEN_BACK
 * run: no_last_reminder fail -DNO_LAST_REMINDER
 * run: reminded_before_the_look fail -DREMINDED_BEFORE_THE_LOOK
 * run: no_reminders fail -DNO_REMINDERS -DNO_LAST_REMINDER
 */
bool far_is_known = true;  /* far_from_ns is a time, not never */
bool idle, asleep, deep;   /* the P; sysmon_asleep; sysmon waits for its bell */
bool stored, visible;      /* the heap's next time: in the owner's store buffer, in memory */
bool added, watched;       /* the poller's until_ns is that of the timer */
bool poller_bell, sysmon_bell;

inline remind() {
  if
  :: visible && !watched -> poller_bell = true
  :: else
  fi
}

proctype Owner() {
  byte comebacks;
  do
  :: !added ->
    stored = true;
    added = true;
    atomic {
      if
      :: far_is_known -> assert(!deep)
      :: else -> visible = true; remind()  /* the fence, and whoever sleeps past it is woken */
      fi
    }
  :: atomic { visible = stored; idle = true };  /* retire(): the CAS writes the buffer back */
    if
    :: comebacks < 2 ->
      comebacks++;
      atomic { visible = stored; idle = false };
      if
      :: asleep -> sysmon_bell = true
      :: else
      fi
    :: break
    fi
  od
}

/* The store buffer is written back some time. */
proctype Buffer() {
end:
  stored;
  visible = true
}

proctype Poller() {
end:
  do
  :: poller_bell -> poller_bell = false; watched = visible
  od
}

proctype Sysmon() {
  do
  :: far_is_known = true;
#ifndef NO_REMINDERS
    remind();
#endif
    if
    :: skip  /* looks again soon */
    :: idle ->
#ifndef NOT_TAKEN_BACK
      far_is_known = false;
#endif
      asleep = true;
#ifdef REMINDED_BEFORE_THE_LOOK
      remind();
#endif
      if
      :: idle ->
#if !defined(NO_LAST_REMINDER) && !defined(REMINDED_BEFORE_THE_LOOK)
        remind();
#endif
        deep = true;
end:    atomic { sysmon_bell -> sysmon_bell = false; deep = false }
      :: else
      fi;
      asleep = false
    fi
  od
}

/* Everything has come to rest. */
proctype Judge() { timeout -> assert(!added || watched) }

init { atomic { run Owner(); run Buffer(); run Poller(); run Sysmon(); run Judge() } }
