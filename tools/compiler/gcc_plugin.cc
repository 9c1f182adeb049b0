// SPDX-License-Identifier: MIT
// GCC plugin: preemption checks on loop back-edges, and at function entries where there is no -fsplit-stack.
//   Check      A compare of the stack pointer with the thread's guard, a jump that is predicted not taken, and out of
//              line a call of weft_preempt_check (src/arch/preempt_check.h). One fused instruction pair, no register,
//              no counter.
//   When       The last pass on GIMPLE. By then loops are vectorised, unrolled and split, and later RTL passes
//              (-funroll-loops) copy a check together with its loop.
//   Where      At the *start* of the block a back-edge leaves. So the compare that ends the block stays next to the
//              arithmetic it may share flags with, and any kind of edge (abnormal, exception) can be covered. Every
//              cycle of the function has a back-edge of the depth-first search, irreducible ones too.
//   Skipped    Loops that run at most `budget` statements, inner loops included, because a nest of short loops
//              multiplies. With -fsplit-stack also loops that call a function of this file on every way round, because
//              it has the same check.
//   Chunks     Tight loops that know their number of rounds have the check between chunks of rounds
//              (gcc_counted_loop.h).
//   Leaves     With -fsplit-stack, functions that have no loop and call nothing lose their check at entry. They end by
//              themselves, and a function that calls them for ever has a loop or calls something, so it has a check.
//   Red zone   is turned off for the file, because the cold call writes below the stack pointer.
// Arguments (-fplugin-arg-weft_preempt-NAME): `entry` checks function entries as well; `budget=N` (statements, default
// 20000; 0 checks every loop); `chunk=N` (rounds of a tight loop between two checks, if not as many as the budget
// allows; 0 checks each round); `verbose` tells what was done to each function.
#include <unordered_set>

#include <gcc-plugin.h>
#include <plugin-version.h>
#include <tree.h>
// clang-format off: GCC's headers depend on their order
#include <gimple.h>
#include <tree-pass.h>
#include <context.h>
#include <basic-block.h>
#include <gimple-iterator.h>
#include <gimple-fold.h>
#include <gimplify.h>
#include <gimplify-me.h>
#include <cfgloop.h>
#include <cfganal.h>
#include <ssa.h>
#include <tree-cfg.h>
#include <tree-ssa-loop.h>
#include <tree-ssa-loop-niter.h>
#include <tree-scalar-evolution.h>
#include <tree-phinodes.h>
#include <ssa-iterators.h>
#include <cgraph.h>
#include <stringpool.h>
#include <attribs.h>
#include <diagnostic-core.h>
#include <options.h>
#include <target.h>
// clang-format on

int plugin_is_GPL_compatible;  // GCC looks for this name: the plugin may be combined with GCC (MIT may)

namespace {

#include "gcc_counted_loop.h"

struct Settings {
  long budget = 20000;
  long chunk = -1;  // -1: as the budget allows
  bool entry = false;
  bool verbose = false;
};
Settings settings;

constexpr long kCallCost = 20;  // a call takes at least that long, and has its own checks if it is long
constexpr long kUnbounded = 1L << 40;
constexpr long kTight = 24;            // statements of a round: a check would cost noticeably
constexpr unsigned kSmallFrame = 256;  // bytes: every check leaves that much room below the stack pointer
constexpr const char* kNoChecks = "weft_no_preempt_checks";

// The target processor, which is not always the one the plugin runs on.
#if defined(WEFT_TARGET_x86_64)
constexpr const char* kCompare = "cmpq\t%%fs:0x70, %%rsp";
constexpr const char* kBelow = "=@ccb";
constexpr const char* kCall = "call\tweft_preempt_check";
constexpr const char* kCallClobbers[] = {"cc"};
constexpr bool kNeedsScratch = false;
#elif defined(WEFT_TARGET_aarch64)
constexpr const char* kCompare =
    "mrs\t%1, tpidr_el0\n\tadrp\t%2, :gottprel:weft_preempt_guard\n\t"
    "ldr\t%2, [%2, #:gottprel_lo12:weft_preempt_guard]\n\tldr\t%1, [%1, %2]\n\tcmp\tsp, %1";
constexpr const char* kBelow = "=@cclo";
constexpr const char* kCall = "bl\tweft_preempt_check";
constexpr const char* kCallClobbers[] = {"cc", "x16", "x17", "x30"};  // x16 and x17 belong to the linker's veneers
constexpr bool kNeedsScratch = true;
#else
#error "compile with -DWEFT_TARGET_x86_64 or -DWEFT_TARGET_aarch64"
#endif

tree string_list(const char* text) {
  return build_tree_list(NULL_TREE, build_string(static_cast<int>(strlen(text)) + 1, text));
}

void add_output(vec<tree, va_gc>** outputs, const char* constraint, tree value) {
  vec_safe_push(*outputs, build_tree_list(string_list(constraint), value));
}

gasm* build_asm(const char* text, vec<tree, va_gc>* outputs, vec<tree, va_gc>* clobbers) {
  gasm* statement = gimple_build_asm_vec(text, nullptr, outputs, clobbers, nullptr);
  gimple_asm_set_volatile(statement, true);
  for (unsigned i = 0; i < vec_safe_length(outputs); ++i) SSA_NAME_DEF_STMT(TREE_VALUE((*outputs)[i])) = statement;
  return statement;
}

gasm* build_compare(tree below) {
  vec<tree, va_gc>* outputs = nullptr;
  add_output(&outputs, kBelow, below);
  if (kNeedsScratch) {
    for (int i = 0; i < 2; ++i) add_output(&outputs, "=&r", make_ssa_name(long_unsigned_type_node));
  }
  return build_asm(kCompare, outputs, nullptr);
}

gasm* build_call() {
  vec<tree, va_gc>* clobbers = nullptr;
  for (const char* clobber : kCallClobbers) vec_safe_push(clobbers, string_list(clobber));
  return build_asm(kCall, nullptr, clobbers);
}

// Divides `block` after its labels: compare and jump in the first part, all else in the second, the call out of line.
void insert_check(basic_block block) {
  tree below = make_ssa_name(integer_type_node);
  gasm* compare = build_compare(below);
  gimple_stmt_iterator start = gsi_after_labels(block);
  gsi_insert_before(&start, compare, GSI_NEW_STMT);
  edge onward = split_block(block, compare);
  basic_block rest = onward->dest;
  basic_block cold = create_empty_bb(block);
  if (current_loops) add_bb_to_loop(cold, block->loop_father);
  gimple_stmt_iterator in_cold = gsi_start_bb(cold);
  gsi_insert_after(&in_cold, build_call(), GSI_NEW_STMT);
  edge fires = make_edge(block, cold, EDGE_TRUE_VALUE);
  fires->probability = profile_probability::very_unlikely();
  onward->flags = (onward->flags & ~EDGE_FALLTHRU) | EDGE_FALSE_VALUE;
  onward->probability = fires->probability.invert();
  cold->count = fires->count();
  make_single_succ_edge(cold, rest, EDGE_FALLTHRU);
  gimple_stmt_iterator end = gsi_last_bb(block);
  gsi_insert_after(&end, gimple_build_cond(NE_EXPR, below, integer_zero_node, NULL_TREE, NULL_TREE), GSI_NEW_STMT);
}

bool is_real_call(gimple* statement) {
  if (!is_gimple_call(statement) || gimple_call_internal_p(statement)) return false;
  tree callee = gimple_call_fndecl(statement);
  return callee == NULL_TREE || !fndecl_built_in_p(callee);
}

bool calls_something(function* fun) {
  basic_block block;
  FOR_EACH_BB_FN(block, fun) {
    for (gimple_stmt_iterator i = gsi_start_bb(block); !gsi_end_p(i); gsi_next(&i)) {
      if (is_real_call(gsi_stmt(i))) return true;
    }
  }
  return false;
}

// The functions compiled so far that begin with -fsplit-stack's check.
std::unordered_set<unsigned> checked_functions;

// Does the called function begin with -fsplit-stack's check for certain? Not if another object may replace it.
bool calls_checked_function(gimple* statement) {
  if (!flag_split_stack || !is_real_call(statement)) return false;
  tree callee = gimple_call_fndecl(statement);
  if (callee == NULL_TREE || TREE_PUBLIC(callee) || lookup_attribute("no_split_stack", DECL_ATTRIBUTES(callee)))
    return false;
  cgraph_node* node = cgraph_node::get(callee);
  return node != nullptr && node->definition && !node->alias && !node->thunk &&
         checked_functions.count(DECL_UID(callee)) != 0;
}

bool calls_checked_function(basic_block block) {
  for (gimple_stmt_iterator i = gsi_start_bb(block); !gsi_end_p(i); gsi_next(&i)) {
    if (calls_checked_function(gsi_stmt(i))) return true;
  }
  return false;
}

// The function ends by itself, and soon, without much stack.
bool is_small_leaf(function* fun) {
  if (fun->calls_alloca || fun->stdarg || calls_something(fun) || mark_dfs_back_edges(fun)) return false;
  unsigned HOST_WIDE_INT bytes = 0;
  unsigned i;
  tree variable;
  FOR_EACH_LOCAL_DECL(fun, i, variable) {
    if (!VAR_P(variable) || is_global_var(variable) || is_gimple_reg(variable)) continue;
    if (!tree_fits_uhwi_p(DECL_SIZE_UNIT(variable))) return false;
    bytes += tree_to_uhwi(DECL_SIZE_UNIT(variable));
  }
  return bytes <= kSmallFrame;
}

void leave_out_entry_check(function* fun) {
  DECL_ATTRIBUTES(fun->decl) = tree_cons(get_identifier("no_split_stack"), NULL_TREE, DECL_ATTRIBUTES(fun->decl));
}

// A round takes about as long as it has statements: it calls nothing and copies no block of memory.
bool is_plain(class loop* loop) {
  basic_block* blocks = get_loop_body(loop);
  bool plain = true;
  for (unsigned b = 0; b < loop->num_nodes && plain; ++b) {
    for (gimple_stmt_iterator i = gsi_start_nondebug_bb(blocks[b]); !gsi_end_p(i); gsi_next_nondebug(&i)) {
      gimple* statement = gsi_stmt(i);
      if (gimple_code(statement) == GIMPLE_ASM ||
          (is_gimple_call(statement) && (gimple_call_flags(statement) & ECF_CONST) == 0)) {
        plain = false;
      }
    }
  }
  free(blocks);
  return plain;
}

// A block that must not be divided at its start: the target of a second return (setjmp), and GCC's own dispatcher.
bool is_fixed(basic_block block) {
  gimple_stmt_iterator start = gsi_start_nondebug_after_labels_bb(block);
  if (gsi_end_p(start) || !is_gimple_call(gsi_stmt(start))) return false;
  gimple* first = gsi_stmt(start);
  return gimple_call_internal_p(first, IFN_ABNORMAL_DISPATCHER) || (gimple_call_flags(first) & ECF_RETURNS_TWICE) != 0;
}

long saturating_product(long a, long b) { return a != 0 && b > kUnbounded / a ? kUnbounded : a * b; }

// The number of statements each loop may run without a check.
class LoopCosts {
 public:
  explicit LoopCosts(function* fun) {
    if (current_loops == nullptr) return;
    calculate_dominance_info(CDI_DOMINATORS);
    if (loops_state_satisfies_p(LOOPS_NEED_FIXUP)) fix_loop_structure(nullptr);
    costs_.safe_grow_cleared(number_of_loops(fun));  // at first, of the statements in the loop itself
    basic_block block;
    FOR_EACH_BB_FN(block, fun) { costs_[block->loop_father->num] += cost_of(block); }
    for (class loop* loop : loops_list(fun, LI_FROM_INNERMOST)) {
      long body = costs_[loop->num] + 1;
      for (class loop* inner = loop->inner; inner != nullptr; inner = inner->next) body += costs_[inner->num];
      rounds_.safe_grow_cleared(costs_.length());
      rounds_[loop->num] = body;
      const HOST_WIDE_INT rounds = get_max_loop_iterations_int(loop);
      const long total = rounds < 0 ? kUnbounded : saturating_product(body, rounds + 1);
      // A loop that gets a check adds nothing to the loops around it.
      costs_[loop->num] = total > settings.budget ? 0 : total;
      if (total <= settings.budget) short_.safe_push(loop->num);
    }
  }

  bool is_short(class loop* loop) const { return short_.contains(loop->num); }
  long of_a_round(class loop* loop) const { return rounds_[loop->num]; }

 private:
  static long cost_of(basic_block block) {
    long cost = 0;
    for (gimple_stmt_iterator i = gsi_start_nondebug_bb(block); !gsi_end_p(i); gsi_next_nondebug(&i)) {
      cost += is_gimple_call(gsi_stmt(i)) ? kCallCost : 1;
    }
    return cost;
  }

  auto_vec<long> costs_, rounds_;
  auto_vec<int> short_;
};

const pass_data kPassData = {GIMPLE_PASS, "weft_preempt", OPTGROUP_NONE, TV_NONE, PROP_cfg | PROP_ssa, 0, 0, 0, 0};

class PreemptPass : public gimple_opt_pass {
 public:
  explicit PreemptPass(gcc::context* context) : gimple_opt_pass(kPassData, context) {}

  bool gate(function* fun) override {
    tree attributes = DECL_ATTRIBUTES(fun->decl);
    return lookup_attribute(kNoChecks, attributes) == NULL_TREE && lookup_attribute("naked", attributes) == NULL_TREE &&
           lookup_attribute("no_split_stack", attributes) == NULL_TREE;
  }

  unsigned execute(function* fun) override {
    if (flag_split_stack) {
      if (is_small_leaf(fun)) {
        leave_out_entry_check(fun);
        return 0;
      }
      checked_functions.insert(DECL_UID(fun->decl));
    }
    auto_vec<basic_block> sources;
    auto_vec<edge> edges;
    auto_vec<CountedLoop> counted;
    unsigned skipped = 0, on_entry = 0;
    const bool chunks = settings.chunk != 0 && (settings.budget != 0 || settings.chunk > 0) &&
                        current_loops != nullptr && number_of_loops(fun) > 1;
    if (chunks) {
      loop_optimizer_init(LOOPS_NORMAL);
      scev_initialize();
    }
    find_back_edges(fun, &sources, &edges, chunks ? &counted : nullptr, &skipped);
    if (chunks) scev_finalize();
    free_dominance_info(CDI_DOMINATORS);  // not kept up to date from here on
    for (CountedLoop& loop : counted) sources.safe_push(loop.divide());
    if (chunks) loop_optimizer_finalize();
    for (edge back : edges) sources.safe_push(split_edge(back));
    for (basic_block block : sources) insert_check(block);
    if (settings.entry && calls_something(fun)) {
      insert_check(split_edge(single_succ_edge(ENTRY_BLOCK_PTR_FOR_FN(fun))));
      on_entry = 1;
    }
    if (settings.verbose && sources.length() + skipped + on_entry != 0) {
      inform(DECL_SOURCE_LOCATION(fun->decl),
             "%u loop checks, %u of them between chunks, %u loops without, %u entry checks in %qD", sources.length(),
             counted.length(), skipped, on_entry, fun->decl);
    }
    if (sources.length() + on_entry != 0) {
      free_dominance_info(CDI_DOMINATORS);
      free_dominance_info(CDI_POST_DOMINATORS);
    }
    return 0;
  }

 private:
  // Finds the blocks to check at their start, the edges to check where the block cannot be divided, and, if `counted`
  // is given, the loops to divide into chunks.
  static void find_back_edges(function* fun, auto_vec<basic_block>* sources, auto_vec<edge>* edges,
                              auto_vec<CountedLoop>* counted, unsigned* skipped) {
    if (!mark_dfs_back_edges(fun)) return;
    LoopCosts costs(fun);
    basic_block block;
    edge back;
    edge_iterator i;
    FOR_EACH_BB_FN(block, fun) {
      FOR_EACH_EDGE(back, i, block->succs) {
        if ((back->flags & EDGE_DFS_BACK) == 0 || sources->contains(block)) continue;
        if (is_covered(back, costs)) {
          ++*skipped;
        } else if (CountedLoop loop; counted != nullptr && is_counted(back, costs, &loop)) {
          counted->safe_push(loop);
        } else if (!is_fixed(block)) {
          sources->safe_push(block);
        } else if ((back->flags & (EDGE_ABNORMAL | EDGE_EH)) == 0) {
          edges->safe_push(back);
        }  // else: only a call (longjmp) goes this way
      }
    }
  }

  static bool is_counted(edge back, const LoopCosts& costs, CountedLoop* result) {
    class loop* loop = back->dest->loop_father;
    if (loop->header != back->dest || loop->latch != back->src || costs.of_a_round(loop) > kTight || !is_plain(loop))
      return false;
    const long chunk = settings.chunk > 0 ? settings.chunk : settings.budget / costs.of_a_round(loop);
    return chunk > 1 && CountedLoop::understand(loop, chunk, result);
  }

  static bool is_covered(edge back, const LoopCosts& costs) {
    class loop* loop = current_loops != nullptr ? back->dest->loop_father : nullptr;
    if (loop == nullptr || loop->header != back->dest) return false;
    if (settings.budget != 0 && costs.is_short(loop)) return true;
    if (!flag_split_stack) return false;
    calculate_dominance_info(CDI_DOMINATORS);
    for (basic_block on_the_way = back->src;; on_the_way = get_immediate_dominator(CDI_DOMINATORS, on_the_way)) {
      if (calls_checked_function(on_the_way)) return true;
      if (on_the_way == back->dest) return false;
      if (!flow_bb_inside_loop_p(loop, on_the_way)) return false;
    }
  }
};

tree accept_attribute(tree*, tree, tree, int, bool*) { return NULL_TREE; }

const attribute_spec kAttribute = {kNoChecks, 0, 0, true, false, false, false, accept_attribute, nullptr};

void add_attribute(void*, void*) { register_attribute(&kAttribute); }

bool read_arguments(const plugin_name_args& info) {
  for (int i = 0; i < info.argc; ++i) {
    const plugin_argument& argument = info.argv[i];
    char* end = nullptr;
    if (strcmp(argument.key, "entry") == 0) {
      settings.entry = true;
    } else if (strcmp(argument.key, "verbose") == 0) {
      settings.verbose = true;
    } else if (strcmp(argument.key, "budget") == 0 && argument.value != nullptr &&
               (settings.budget = strtol(argument.value, &end, 10)) >= 0 && *end == '\0') {
      continue;
    } else if (strcmp(argument.key, "chunk") == 0 && argument.value != nullptr &&
               (settings.chunk = strtol(argument.value, &end, 10)) >= 0 && *end == '\0') {
      continue;
    } else {
      error("plugin %qs: unknown argument %qs (entry, budget=N, chunk=N, verbose)", info.base_name, argument.key);
      return false;
    }
  }
  return true;
}

}  // namespace

int plugin_init(plugin_name_args* info, plugin_gcc_version* version) {
  if (!plugin_default_version_check(version, &gcc_version)) {
    error("plugin %qs was built for GCC %s, this is %s: build it again with this compiler", info->base_name,
          gcc_version.basever, version->basever);
    return 1;
  }
  if (!read_arguments(*info)) return 1;
#if defined(MASK_NO_RED_ZONE)
  global_options.x_target_flags |= MASK_NO_RED_ZONE;  // before the target reads its options
#endif
  register_pass_info pass;
  pass.pass = new PreemptPass(g);
  pass.reference_pass_name = "optimized";
  pass.ref_pass_instance_number = 1;
  pass.pos_op = PASS_POS_INSERT_BEFORE;
  register_callback(info->base_name, PLUGIN_PASS_MANAGER_SETUP, nullptr, &pass);
  register_callback(info->base_name, PLUGIN_ATTRIBUTES, add_attribute, nullptr);
  return 0;
}
