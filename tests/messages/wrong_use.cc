// SPDX-License-Identifier: MIT
// Wrong uses of the library, and the beginning of the sentence that the compiler says of each (run.py). What stands before the first
// case is common to all.
#include <weft/weft.h>

#include <memory>
#include <optional>
#include <string>

using namespace std::chrono_literals;

struct Fixed {  // cannot be moved
  Fixed() = default;
  Fixed(const Fixed&) = delete;
};

void use(weft::chan<int> c, weft::chan<int>::receiver in, weft::chan<int>::sender out, weft::task<int>& number,
         weft::task<void>& nothing, weft::future<int>& later, weft::selector& s, weft::group& group,
         weft::wait_group& waited, weft::task_force& force, weft::once_flag& once,
         weft::single_flight<int, std::string>& flights, std::unique_ptr<int> own);

void use(weft::chan<int> c, weft::chan<int>::receiver in, weft::chan<int>::sender out, weft::task<int>& number,
         weft::task<void>& nothing, weft::future<int>& later, weft::selector& s, weft::group& group,
         weft::wait_group& waited, weft::task_force& force, weft::once_flag& once,
         weft::single_flight<int, std::string>& flights, std::unique_ptr<int> own) {
  // case: on_recv_handler_takes_the_element
  // says: weft::on_recv: the handler must be callable with one std::optional<T>
  weft::select(weft::on_recv(c, [](int) {}));
  // case: on_recv_handler_takes_nothing
  // says: weft::on_recv: the handler must be callable with one std::optional<T>
  weft::select(weft::on_recv(c, [] {}), weft::on_timeout(1s));
  // case: on_recv_handler_takes_a_mutable_reference
  // says: weft::on_recv: the handler must be callable with one std::optional<T>
  weft::select(weft::on_recv(c, [](std::optional<int>&) {}));
  // case: on_recv_of_a_temporary
  // says: weft::on_recv: the handler must be callable with one std::optional<T>
  weft::select(weft::on_recv(weft::after(1s), [] {}));
  // case: on_recv_of_a_receiver
  // says: weft::on_recv: the handler must be callable with one std::optional<T>
  weft::select(weft::on_recv(in, [](int) {}));
  // case: on_recv_handler_is_no_function
  // says: weft::on_recv: the handler must be callable with one std::optional<T>
  weft::select(weft::on_recv(c, 5));
  // case: on_send_handler_takes_the_element
  // says: weft::on_send: the handler must be callable without arguments
  weft::select(weft::on_send(c, 1, [](int) {}));
  // case: on_send_of_a_sender
  // says: weft::on_send: the handler must be callable without arguments
  weft::select(weft::on_send(out, 1, [](int) {}));
  // case: on_timeout_handler_takes_something
  // says: weft::on_timeout: the handler must be callable without arguments
  weft::select(weft::on_recv(c), weft::on_timeout(1s, [](int) {}));
  // case: on_deadline_handler_takes_something
  // says: weft::on_deadline: the handler must be callable without arguments
  weft::select(weft::on_recv(c), weft::on_deadline(weft::time_point(), [](weft::time_point) {}));
  // case: on_default_handler_takes_something
  // says: weft::on_default: the handler must be callable without arguments
  weft::select(weft::on_recv(c), weft::on_default([](int) {}));
  // case: on_join_handler_takes_nothing
  // says: weft::on_join: the handler must be callable with what join() returns
  weft::select(weft::on_join(number, [] {}));
  // case: on_join_of_a_task_without_value
  // says: weft::on_join: the handler must be callable with what join() returns
  weft::select(weft::on_join(nothing, [](int) {}));
  // case: on_join_of_a_temporary
  // says: weft::on_join: name a task that outlives select
  weft::select(weft::on_join(weft::spawn([] { return 1; }), [](int) {}));
  // case: on_ready_handler_takes_the_value
  // says: weft::on_ready: the handler must be callable with the future or without arguments
  weft::select(weft::on_ready(later, [](int) {}));
  // case: select_of_a_channel
  // says: weft::select: each argument must be a case
  weft::select(c);
  // case: selector_recv
  // says: weft::selector::recv: the handler must be callable with one std::optional<T>
  s.recv(c, [](int) {});
  // case: selector_recv_of_a_receiver
  // says: weft::selector::recv: the handler must be callable with one std::optional<T>
  s.recv(in, [] {});
  // case: selector_send
  // says: weft::selector::send: the handler must be callable without arguments
  s.send(c, 1, [](int) {});
  // case: selector_join
  // says: weft::selector::join: the handler must be callable with what join() returns
  s.join(number, [] {});
  // case: selector_ready
  // says: weft::selector::ready: the handler must be callable with the future or without arguments
  s.ready(later, [](int) {});
  // case: go_without_its_argument
  // says: weft::go: the function cannot be called with these arguments
  weft::go([](int) {});
  // case: go_with_one_too_many
  // says: weft::go: the function cannot be called with these arguments
  weft::go([](int) {}, 1, 2);
  // case: go_with_a_reference
  // says: weft::go: the function cannot be called with these arguments
  int x = 0;
  weft::go([](int& counted) { ++counted; }, x);
  // case: go_with_options
  // says: weft::go: the function cannot be called with these arguments
  weft::go({.name = "reader"}, [](int) {});
  // case: go_with_something_that_cannot_be_copied
  // says: weft::go: the function and its arguments are copied, and one of these cannot be copied
  weft::go([](std::unique_ptr<int>) {}, own);
  // case: go_of_no_function
  // says: weft::go: the function cannot be called with these arguments
  weft::go(5);
  // case: spawn_without_its_argument
  // says: weft::spawn: the function cannot be called with these arguments
  auto task = weft::spawn([](int) {});
  task.join();
  // case: spawn_with_a_wrong_argument
  // says: weft::spawn: the function cannot be called with these arguments
  weft::spawn([](std::string) {}, 5.0f).join();
  // case: spawn_with_options
  // says: weft::spawn: the function cannot be called with these arguments
  weft::spawn({.name = "reader"}, [](int) {}).join();
  // case: spawn_of_what_cannot_be_delivered
  // says: weft::spawn: the result must be void, a reference, or an object that can be moved
  weft::spawn([] { return Fixed(); }).join();
  // case: run_with_an_argument
  // says: weft::run: the function must be callable without arguments
  const int status = weft::run([](int) { return 0; });
  static_cast<void>(status);
  // case: run_with_options
  // says: weft::run: the function must be callable without arguments
  weft::run({.maxprocs = 2}, [](int) { return 0; });
  // case: wait_group_go
  // says: weft::wait_group::go: the function must be callable without arguments
  waited.go([](int) {});
  // case: wait_group_go_of_what_cannot_be_copied
  // says: weft::wait_group::go: the function must be callable without arguments, and copied or moved in
  auto owner = [own = std::move(own)] {};
  waited.go(owner);
  // case: task_force_go
  // says: weft::task_force::go: the function must be callable without arguments
  force.go([](int) {});
  // case: group_go
  // says: weft::group::go: the function must be callable without arguments or with one const weft::context&
  group.go([](int) {});
  // case: group_go_with_options
  // says: weft::group::go: the function must be callable without arguments or with one const weft::context&
  group.go({.name = "reader"}, [](int) {});
  // case: group_try_go
  // says: weft::group::try_go: the function must be callable without arguments or with one const weft::context&
  static_cast<void>(group.try_go([](int) {}));
  // case: wait_group_go_with_options
  // says: weft::wait_group::go: the function must be callable without arguments
  waited.go({.name = "reader"}, [](int) {});
  // case: blocking
  // says: weft::blocking: the function must be callable without arguments
  weft::blocking([](int) {});
  // case: stop_the_world
  // says: weft::runtime::stop_the_world: the function must be callable without arguments
  weft::runtime::stop_the_world([](int) {});
  // case: call_once
  // says: weft::call_once: the function cannot be called with these arguments
  weft::call_once(once, [](int) {});
  // case: after_func_of_a_timer
  // says: weft::after_func: the function must be callable without arguments
  weft::after_func(1s, [](int) {});
  // case: after_func_of_a_context
  // says: weft::after_func: the function must be callable without arguments
  weft::after_func(weft::context::background(), [](int) {});
  // case: single_flight_of_another_type
  // says: weft::single_flight::run: the function must be callable without arguments, and its result must convert
  flights.run(1, [] { return 1.5f; });
  // case: on_recv_without_select
  // says: ignoring return value of
  weft::on_recv(c);
  // case: on_send_without_select
  // says: ignoring return value of
  weft::on_send(c, 1);
  // case: on_join_without_select
  // says: ignoring return value of
  weft::on_join(number);
  // case: on_ready_without_select
  // says: ignoring return value of
  weft::on_ready(later);
  // case: on_timeout_without_select
  // says: ignoring return value of
  weft::on_timeout(1s);
  // case: on_deadline_without_select
  // says: ignoring return value of
  weft::on_deadline(weft::time_point());
  // case: on_default_without_select
  // says: ignoring return value of
  weft::on_default();
  // case: parallel_for_takes_nothing
  // says: weft::parallel_for: the function must be callable with an index
  weft::parallel_for(0, 10, [] {});
  // case: parallel_reduce_of_something_else
  // says: weft::parallel_reduce: T must be copyable
  weft::parallel_reduce(0, 10, std::string(), [](std::size_t) { return Fixed(); },
                        [](std::string one, std::string) { return one; });
  // end
}
