/** Rewards of an evaluation: a reward file, or a reward model, which is loaded after the answering models are disposed. */
import type { Ranks } from '../distributed/index.js'
import { refuse } from '../errors/index.js'
import { environmentSource } from '../experience/index.js'
import { inspectModel, MultimodalProcessor } from '../model/index.js'
import {
  loadRewardOptions,
  locateRewardModels,
  modelReward,
  namedRewards,
  RewardComputationEngine,
  type RewardEngineOptions,
  type RewardInput,
  type RewardNames,
  type RewardOutcome,
  rewardDirectory,
} from '../reward/index.js'
import { Tokenizer } from '../text/index.js'
import { loadFrozen, type Report } from '../train/index.js'

export interface EvaluationRewards {
  /** Whether the scores come from a reward model, where no score means "correct". */
  readonly judge: 'rules' | 'model'
  /** Why samples of a row cannot get a reward, or undefined. */
  rowProblem(row: Pick<RewardInput, 'label' | 'target'> & { row?: unknown }): string | undefined
  open(context: { ranks?: Ranks; report: Report; signal: AbortSignal }): Promise<RewardComputationEngine>
  close(): Promise<void>
}

interface RewardContext {
  /** The common tokenizer of all answering models; undefined if they differ, because ids would have different meanings. */
  readonly tokenizer: Tokenizer | undefined
  readonly device: string
  readonly report: Report
  readonly signal: AbortSignal
}

/** Problems of the rewards are errors here, before a model is loaded. */
export async function prepareRewards(
  reward: RewardNames | RewardEngineOptions,
  { tokenizer, device, report, signal }: RewardContext,
): Promise<EvaluationRewards> {
  const shared = tokenizer ? { tokenizer } : {}
  if (typeof reward === 'object' && !isList(reward)) return loadedRewards({ ...shared, ...reward })
  const named = await namedRewards(reward).catch(error => refuse('reward', error))
  if (named.length > 1 || named[0]!.kind !== 'model') {
    const commits = await locateRewardModels(reward, { report, signal })
    return loadedRewards(await loadRewardOptions(reward, { ...shared, device, commits }))
  }
  const located = rewardDirectory(named[0]!.path, { report, signal })
  const { directory, adapter } = await located.catch(error => refuse('reward', error))
  await inspectModel(directory, { role: 'reward' })
  const own = await Tokenizer.load(directory)
  let opened: RewardComputationEngine | undefined
  return {
    judge: 'model',
    rowProblem: () => undefined,
    async open(context) {
      const settings = {
        device,
        gradientCheckpointing: false,
        seed: 0,
        role: 'reward',
        what: 'the reward model',
        adapter,
      } as const
      const model = await loadFrozen(directory, settings, context)
      const policy = tokenizer ? { policyTokenizer: tokenizer } : {}
      const encode = (text: string) => own.encode(text, { addSpecialTokens: false })
      const processor = await MultimodalProcessor.of(model, directory, { encode })
      const source = modelReward({
        name: 'reward',
        model,
        tokenizer: own,
        ...policy,
        ...(processor ? { processor } : {}),
      })
      opened = new RewardComputationEngine({ sources: [{ ...source, close: async () => model.dispose() }] })
      return opened
    },
    close: async () => opened?.close(),
  }
}

/** The rewards that an environment gave. */
export const environmentRewards = (): EvaluationRewards => loadedRewards({ sources: [environmentSource] })

const isList = (reward: RewardNames | RewardEngineOptions): reward is readonly string[] => Array.isArray(reward)

function loadedRewards(options: RewardEngineOptions): EvaluationRewards {
  const engine = new RewardComputationEngine(options)
  return {
    judge: engine.asksModels ? 'model' : 'rules',
    rowProblem: row => engine.rowProblem(row),
    open: async () => engine,
    close: () => engine.close(),
  }
}

/** Samples that are scored in one call, in the order of the data: a model then sees the same batches every time. */
const chunk = 256

export async function scoreAnswers(
  engine: RewardComputationEngine,
  inputs: readonly RewardInput[],
  { signal, onScored }: { signal: AbortSignal; onScored: (count: number) => void },
): Promise<RewardOutcome[]> {
  const all: RewardOutcome[] = []
  for (let start = 0; start < inputs.length; start += chunk) {
    const { outcomes } = await engine.compute(inputs.slice(start, start + chunk), { signal })
    all.push(...outcomes)
    onScored(all.length)
  }
  return all
}
