// SPDX-License-Identifier: MIT
// LLVM pass plugin: preemption checks on loop back-edges, and at function entries if asked for. The twin of
// gcc_plugin.cc, which has the reasons. The differences:
//   When       The optimizer's last extension point. With -flto that is before the link-time passes: checks are right,
//              but loops that only link-time inlining would open for vectorisation stay scalar.
//   Chunks     There are none: each round of a loop has its check.
//   Red zone   is turned off function by function.
//   Settings   come from the environment, because clang gives pass plugins no arguments (an -mllvm option would come
//              too late): WEFT_PREEMPT_ENTRY=1, WEFT_PREEMPT_BUDGET=N. A program's build needs none: the file's second
//              name, weft_preempt_entry.so, switches entry checks on.
#include <dlfcn.h>

#include <cstdlib>
#include <map>
#include <string>
#include <vector>

#include <llvm/ADT/SmallPtrSet.h>
#include <llvm/Analysis/CFG.h>
#include <llvm/Analysis/LoopInfo.h>
#include <llvm/Analysis/ScalarEvolution.h>
#include <llvm/Config/llvm-config.h>
#include <llvm/IR/Constants.h>
#include <llvm/IR/Dominators.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InlineAsm.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/MDBuilder.h>
#include <llvm/IR/Module.h>
#include <llvm/IR/PassManager.h>
#include <llvm/Passes/PassBuilder.h>
#include <llvm/Passes/PassPlugin.h>
#include <llvm/Transforms/Utils/BasicBlockUtils.h>

namespace {

constexpr std::uint64_t kCallCost = 20;  // a call takes at least that long, and has its own checks if it is long
constexpr std::uint64_t kUnbounded = std::uint64_t{1} << 40;
constexpr const char* kNoChecks = "weft_no_preempt_checks";  // [[clang::annotate("weft_no_preempt_checks")]]

struct Settings {
  std::uint64_t budget = 20000;
  bool entry = false;
};

Settings read_settings() {
  Settings settings;
  Dl_info file = {};
  if (dladdr(reinterpret_cast<const void*>(&read_settings), &file) != 0 && file.dli_fname != nullptr) {
    settings.entry = std::string(file.dli_fname).find("weft_preempt_entry") != std::string::npos;
  }
  if (const char* text = std::getenv("WEFT_PREEMPT_BUDGET")) settings.budget = std::strtoull(text, nullptr, 10);
  if (const char* text = std::getenv("WEFT_PREEMPT_ENTRY")) settings.entry = *text == '1';
  return settings;
}

// The two pieces of assembly, by processor.
struct Assembly {
  const char* compare;
  const char* compare_constraints;
  const char* call;
  const char* call_constraints;
};

constexpr Assembly kX86 = {"cmpq %fs:0x70, %rsp", "={@ccb},~{flags}", "call weft_preempt_check", "~{flags}"};
constexpr Assembly kAarch64 = {
    "mrs $1, tpidr_el0\n\tadrp $2, :gottprel:weft_preempt_guard\n\tldr $2, [$2, #:gottprel_lo12:weft_preempt_guard]\n\t"
    "ldr $1, [$1, $2]\n\tcmp sp, $1",
    "={@cclo},=&r,=&r,~{nzcv}", "bl weft_preempt_check", "~{nzcv},~{x16},~{x17},~{lr}"};

bool is_real_call(const llvm::Instruction& instruction) {
  return llvm::isa<llvm::CallBase>(instruction) && !llvm::isa<llvm::IntrinsicInst>(instruction) &&
         !llvm::cast<llvm::CallBase>(instruction).isInlineAsm();
}

bool is_annotated(const llvm::Function& function) {
  const llvm::GlobalVariable* annotations = function.getParent()->getGlobalVariable("llvm.global.annotations");
  if (annotations == nullptr || !annotations->hasInitializer()) return false;
  const auto* entries = llvm::dyn_cast<llvm::ConstantArray>(annotations->getInitializer());
  if (entries == nullptr) return false;
  for (const llvm::Use& use : entries->operands()) {
    const auto* entry = llvm::dyn_cast<llvm::ConstantStruct>(use.get());
    if (entry == nullptr || entry->getOperand(0)->stripPointerCasts() != &function) continue;
    const auto* text = llvm::dyn_cast<llvm::GlobalVariable>(entry->getOperand(1)->stripPointerCasts());
    if (text == nullptr || !text->hasInitializer()) continue;
    const auto* data = llvm::dyn_cast<llvm::ConstantDataArray>(text->getInitializer());
    if (data != nullptr && data->isCString() && data->getAsCString() == kNoChecks) return true;
  }
  return false;
}

class PreemptPass : public llvm::PassInfoMixin<PreemptPass> {
 public:
  PreemptPass() : settings_(read_settings()) {}

  static bool isRequired() { return true; }  // also for functions that are not optimised

  llvm::PreservedAnalyses run(llvm::Function& function, llvm::FunctionAnalysisManager& analyses) {
    const bool x86 = triple_has(function, "x86_64"), aarch64 = triple_has(function, "aarch64");
    if (function.isDeclaration() || function.hasFnAttribute(llvm::Attribute::Naked) || is_annotated(function) ||
        (!x86 && !aarch64)) {
      return llvm::PreservedAnalyses::all();
    }
    const std::vector<llvm::BasicBlock*> sources = blocks_to_check(function, analyses);
    const Assembly& assembly = x86 ? kX86 : kAarch64;
    for (llvm::BasicBlock* block : sources) insert_check(&*block->getFirstInsertionPt(), assembly);
    const bool entry = settings_.entry && calls_something(function);
    if (entry) insert_check(&*function.getEntryBlock().getFirstNonPHIOrDbgOrAlloca(), assembly);
    if (sources.empty() && !entry) return llvm::PreservedAnalyses::all();
    function.addFnAttr(llvm::Attribute::NoRedZone);
    return llvm::PreservedAnalyses::none();
  }

 private:
  static bool triple_has(const llvm::Function& function, const char* name) {
    return std::string(function.getParent()->getTargetTriple()).rfind(name, 0) == 0;
  }

  static bool calls_something(const llvm::Function& function) {
    for (const llvm::BasicBlock& block : function) {
      for (const llvm::Instruction& instruction : block) {
        if (is_real_call(instruction)) return true;
      }
    }
    return false;
  }

  // The number of instructions the loop may run without a check; 0 if it gets one.
  std::uint64_t cost(const llvm::Loop& loop, llvm::ScalarEvolution& evolution, const llvm::LoopInfo& loops,
                     std::map<const llvm::Loop*, bool>& is_short) const {
    std::uint64_t body = 1;
    for (const llvm::Loop* inner : loop) body += cost(*inner, evolution, loops, is_short);
    for (const llvm::BasicBlock* block : loop.blocks()) {
      if (loops.getLoopFor(block) != &loop) continue;
      for (const llvm::Instruction& instruction : *block) body += is_real_call(instruction) ? kCallCost : 1;
    }
    const std::uint64_t rounds = evolution.getSmallConstantMaxTripCount(&loop);  // 0: not known
    const std::uint64_t total = rounds == 0 || body > kUnbounded / rounds ? kUnbounded : body * rounds;
    is_short[&loop] = total <= settings_.budget;
    return is_short[&loop] ? total : 0;
  }

  std::vector<llvm::BasicBlock*> blocks_to_check(llvm::Function& function,
                                                 llvm::FunctionAnalysisManager& analyses) const {
    llvm::SmallVector<std::pair<const llvm::BasicBlock*, const llvm::BasicBlock*>, 8> edges;
    llvm::FindFunctionBackedges(function, edges);
    std::vector<llvm::BasicBlock*> sources;
    if (edges.empty()) return sources;
    const auto& loops = analyses.getResult<llvm::LoopAnalysis>(function);
    auto& evolution = analyses.getResult<llvm::ScalarEvolutionAnalysis>(function);
    std::map<const llvm::Loop*, bool> is_short;
    for (const llvm::Loop* loop : loops) cost(*loop, evolution, loops, is_short);
    llvm::SmallPtrSet<const llvm::BasicBlock*, 8> seen;
    for (const auto& [source, target] : edges) {
      const llvm::Loop* loop = loops.getLoopFor(target);
      if (settings_.budget != 0 && loop != nullptr && loop->getHeader() == target && is_short[loop]) continue;
      if (seen.insert(source).second) sources.push_back(const_cast<llvm::BasicBlock*>(source));
    }
    return sources;
  }

  static void insert_check(llvm::Instruction* where, const Assembly& assembly) {
    llvm::LLVMContext& context = where->getContext();
    llvm::Type* bit = llvm::Type::getInt8Ty(context);
    llvm::Type* word = llvm::Type::getInt64Ty(context);
    const bool scratch = &assembly == &kAarch64;
    llvm::Type* result = scratch ? static_cast<llvm::Type*>(llvm::StructType::get(bit, word, word)) : bit;
    llvm::IRBuilder<> build(where);
    auto* compare_type = llvm::FunctionType::get(result, false);
    llvm::Value* below = build.CreateCall(
        compare_type, llvm::InlineAsm::get(compare_type, assembly.compare, assembly.compare_constraints, true));
    if (scratch) below = build.CreateExtractValue(below, 0);
    llvm::Value* fires = build.CreateICmpNE(below, llvm::ConstantInt::get(bit, 0));
    llvm::MDNode* weights = llvm::MDBuilder(context).createBranchWeights(1, 1u << 20);
    llvm::IRBuilder<> cold(llvm::SplitBlockAndInsertIfThen(fires, where, false, weights));
    auto* call_type = llvm::FunctionType::get(llvm::Type::getVoidTy(context), false);
    cold.CreateCall(call_type, llvm::InlineAsm::get(call_type, assembly.call, assembly.call_constraints, true));
  }

  Settings settings_;
};

void add_pass(llvm::PassBuilder& builder) {
  builder.registerOptimizerLastEPCallback([](llvm::ModulePassManager& passes, auto...) {
    passes.addPass(llvm::createModuleToFunctionPassAdaptor(PreemptPass()));
  });
}

}  // namespace

extern "C" LLVM_ATTRIBUTE_WEAK llvm::PassPluginLibraryInfo llvmGetPassPluginInfo() {
  return {LLVM_PLUGIN_API_VERSION, "weft_preempt", LLVM_VERSION_STRING, add_pass};
}
