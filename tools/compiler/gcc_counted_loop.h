// SPDX-License-Identifier: MIT
// Part of gcc_plugin.cc, which has included GCC's headers: loops whose number of rounds is known before they start.
//   Why        A loop of five instructions is a fifth slower with a check in each round. If it counts its rounds down
//              in chunks, with the check between two chunks, each round is as long as before, because the count takes
//              the place of the exit's compare.
//   Shape      before  rounds = number of rounds;  now = min(rounds, chunk);  later = rounds - now;  left = now + 1
//              exit    if (--left != 0) go round;  if (later == 0) leave;  check;  left = min(later, chunk);
//                      later -= left;  go round
//   Only       Innermost loops that call nothing and have few statements. Elsewhere a check costs little, or the rounds
//              may be long.
#pragma once

class CountedLoop {
 public:
  // False: the number of rounds cannot be known, or not cheaply. Nothing is changed. Needs scev_initialize().
  static bool understand(class loop* loop, long chunk, CountedLoop* result) {
    if (loop->inner != nullptr || loop->latch == nullptr || EDGE_COUNT(loop->header->preds) != 2) return false;
    edge in;
    edge_iterator i;
    FOR_EACH_EDGE(in, i, loop->header->preds) {
      if ((in->flags & EDGE_COMPLEX) != 0) return false;
    }
    const auto_vec<edge> exits = get_loop_exit_edges(loop);
    for (edge exit : exits) {
      tree rounds = rounds_until(loop, exit);
      if (rounds == NULL_TREE) continue;
      *result = {loop, exit, rounds, chunk};
      return true;
    }
    return false;
  }

  // Returns the block between two chunks. The loops must have preheaders.
  basic_block divide() {
    tree type = long_unsigned_type_node;
    tree chunk = build_int_cst(type, chunk_), none = build_zero_cst(type), one = build_one_cst(type);

    gimple_seq before = nullptr;
    tree rounds = force_gimple_operand(fold_convert(type, unshare_expr(rounds_)), &before, true, NULL_TREE);
    tree now = gimple_build(&before, MIN_EXPR, type, rounds, chunk);
    tree later_at_first = gimple_build(&before, MINUS_EXPR, type, rounds, now);
    tree left_at_first = gimple_build(&before, PLUS_EXPR, type, now, one);
    if (before != nullptr) gsi_insert_seq_on_edge_immediate(loop_preheader_edge(loop_), before);

    gphi* left = create_phi_node(make_ssa_name(type), loop_->header);
    gphi* later = create_phi_node(make_ssa_name(type), loop_->header);

    basic_block test_block = exit_->src;
    gcond* test = as_a<gcond*>(gsi_stmt(gsi_last_bb(test_block)));
    tree counter = gimple_cond_lhs(test), limit = gimple_cond_rhs(test);
    tree less = make_ssa_name(type);
    gimple_stmt_iterator at_test = gsi_for_stmt(test);
    gsi_insert_before(&at_test, gimple_build_assign(less, MINUS_EXPR, gimple_phi_result(left), one), GSI_SAME_STMT);
    edge stay = EDGE_SUCC(test_block, EDGE_SUCC(test_block, 0) == exit_ ? 1 : 0);
    gimple_cond_set_condition(test, (stay->flags & EDGE_TRUE_VALUE) != 0 ? NE_EXPR : EQ_EXPR, less, none);
    update_stmt(test);

    basic_block between = split_edge(exit_);
    remove_bb_from_loops(between);
    add_bb_to_loop(between, loop_);
    basic_block join = split_edge(stay);
    edge directly = single_pred_edge(join);
    edge out = single_succ_edge(between);
    out->flags = (out->flags & ~EDGE_FALLTHRU) | EDGE_TRUE_VALUE;
    out->probability = profile_probability::very_likely();
    gimple_stmt_iterator in_between = gsi_last_bb(between);
    gsi_insert_after(&in_between, gimple_build_cond(EQ_EXPR, gimple_phi_result(later), none, NULL_TREE, NULL_TREE),
                     GSI_NEW_STMT);

    basic_block again = create_empty_bb(between);
    add_bb_to_loop(again, loop_);
    edge on = make_edge(between, again, EDGE_FALSE_VALUE);
    on->probability = out->probability.invert();
    again->count = on->count();
    gimple_seq next = nullptr;
    tree left_again = gimple_build(&next, MIN_EXPR, type, gimple_phi_result(later), chunk);
    tree later_again = gimple_build(&next, MINUS_EXPR, type, gimple_phi_result(later), left_again);
    gimple_stmt_iterator in_again = gsi_last_bb(again);
    gsi_insert_seq_after(&in_again, next, GSI_NEW_STMT);
    edge after_check = make_single_succ_edge(again, join, EDGE_FALLTHRU);

    gphi* left_next = create_phi_node(make_ssa_name(type), join);
    add_phi_arg(left_next, less, directly, UNKNOWN_LOCATION);
    add_phi_arg(left_next, left_again, after_check, UNKNOWN_LOCATION);
    gphi* later_next = create_phi_node(make_ssa_name(type), join);
    add_phi_arg(later_next, gimple_phi_result(later), directly, UNKNOWN_LOCATION);
    add_phi_arg(later_next, later_again, after_check, UNKNOWN_LOCATION);
    edge in;
    edge_iterator i;
    FOR_EACH_EDGE(in, i, loop_->header->preds) {
      const bool round = flow_bb_inside_loop_p(loop_, in->src);
      add_phi_arg(left, round ? gimple_phi_result(left_next) : left_at_first, in, UNKNOWN_LOCATION);
      add_phi_arg(later, round ? gimple_phi_result(later_next) : later_at_first, in, UNKNOWN_LOCATION);
    }
    remove_if_it_only_counted(counter);
    remove_if_it_only_counted(limit);
    return again;
  }

 private:
  // The number of rounds before the loop leaves by this exit, computed before it starts; null: not known, or costly.
  static tree rounds_until(class loop* loop, edge exit) {
    if ((exit->flags & EDGE_COMPLEX) != 0 || !dominated_by_p(CDI_DOMINATORS, loop->latch, exit->src)) return NULL_TREE;
    gimple_stmt_iterator last = gsi_last_bb(exit->src);
    if (gsi_end_p(last) || gimple_code(gsi_stmt(last)) != GIMPLE_COND) return NULL_TREE;
    class tree_niter_desc rounds;
    if (!number_of_iterations_exit(loop, exit, &rounds, false) || !integer_zerop(rounds.may_be_zero)) return NULL_TREE;
    tree type = TREE_TYPE(rounds.niter);
    if (!INTEGRAL_TYPE_P(type) || TYPE_PRECISION(type) > TYPE_PRECISION(long_unsigned_type_node)) return NULL_TREE;
    int operations = 12;
    return is_cheap(rounds.niter, &operations) ? rounds.niter : NULL_TREE;
  }

  static bool is_cheap(tree value, int* operations) {
    if (is_gimple_min_invariant(value) || TREE_CODE(value) == SSA_NAME) return true;
    if (--*operations < 0) return false;
    switch (TREE_CODE(value)) {
      case EXACT_DIV_EXPR:
      case TRUNC_DIV_EXPR:
      case FLOOR_DIV_EXPR:
        return integer_pow2p(TREE_OPERAND(value, 1)) && is_cheap(TREE_OPERAND(value, 0), operations);
      CASE_CONVERT:
      case NEGATE_EXPR:
      case BIT_NOT_EXPR: return is_cheap(TREE_OPERAND(value, 0), operations);
      case PLUS_EXPR:
      case POINTER_PLUS_EXPR:
      case MINUS_EXPR:
      case POINTER_DIFF_EXPR:
      case MULT_EXPR:
      case BIT_AND_EXPR:
      case LSHIFT_EXPR:
      case RSHIFT_EXPR:
      case MIN_EXPR:
      case MAX_EXPR:
        return is_cheap(TREE_OPERAND(value, 0), operations) && is_cheap(TREE_OPERAND(value, 1), operations);
      default: return false;
    }
  }

  static bool is_used_only_by(tree name, gimple* user) {
    imm_use_iterator i;
    use_operand_p use;
    FOR_EACH_IMM_USE_FAST(use, i, name) {
      if (USE_STMT(use) != user && !is_gimple_debug(USE_STMT(use))) return false;
    }
    return true;
  }

  // Removes the variable that the exit compared, because no later pass would find out that it is of no use.
  void remove_if_it_only_counted(tree name) {
    if (TREE_CODE(name) != SSA_NAME) return;
    gimple* step = SSA_NAME_DEF_STMT(name);
    if (gimple_code(step) == GIMPLE_PHI && gimple_bb(step) == loop_->header) {
      tree next = PHI_ARG_DEF_FROM_EDGE(step, loop_latch_edge(loop_));
      if (TREE_CODE(next) != SSA_NAME) return;
      step = SSA_NAME_DEF_STMT(next);
    }
    if (!is_gimple_assign(step) || gimple_assign_rhs_class(step) != GIMPLE_BINARY_RHS) return;
    tree before = gimple_assign_rhs1(step), after = gimple_assign_lhs(step);
    if (TREE_CODE(before) != SSA_NAME || TREE_CODE(gimple_assign_rhs2(step)) != INTEGER_CST) return;
    gimple* phi = SSA_NAME_DEF_STMT(before);
    if (gimple_code(phi) != GIMPLE_PHI || gimple_bb(phi) != loop_->header ||
        PHI_ARG_DEF_FROM_EDGE(phi, loop_latch_edge(loop_)) != after || !is_used_only_by(before, step) ||
        !is_used_only_by(after, phi)) {
      return;
    }
    gimple_stmt_iterator at = gsi_for_stmt(phi);
    remove_phi_node(&at, true);
    at = gsi_for_stmt(step);
    gsi_remove(&at, true);
    release_defs(step);
  }

  class loop* loop_ = nullptr;
  edge exit_ = nullptr;
  tree rounds_ = NULL_TREE;
  long chunk_ = 0;

  CountedLoop(class loop* loop, edge exit, tree rounds, long chunk)
      : loop_(loop), exit_(exit), rounds_(rounds), chunk_(chunk) {}

 public:
  CountedLoop() = default;
};
