/** An evaluation from its options to its numbers: checks, each model in turn, the rewards, the comparison. */
import type { ConversationExample, ExampleSet } from '../data/index.js'
import { Ranks } from '../distributed/index.js'
import { withEnvironmentReward } from '../experience/index.js'
import type { TokenModel } from '../model/index.js'
import type { RewardInput } from '../reward/index.js'
import { engineOver, evaluateSft, type LoadedModel, loadFrozen, type Report, silentReport } from '../train/index.js'
import { type Answers, generateAnswers } from './answers.js'
import { episodeAnswers } from './episodes.js'
import { type EvaluationConfig, type EvaluationOptions, resolveEvaluation, temperatureOf } from './options.js'
import { answersWanted, type PreparedEvaluation, type PreparedModel, prepareEvaluation } from './prepare.js'
import type { AnswerRecord, Evaluation, ModelEvaluation, Perplexity } from './result.js'
import { scoreAnswers } from './rewards.js'
import { type AnsweredPrompt, answerRecords, countAnswers, rewardsOf, summarizeAnswers } from './summarize.js'
import { type WinRate, winRate } from './win-rate.js'

export interface EvaluationResult {
  readonly evaluation: Evaluation
  /** Every answer with its reward; none where only perplexity was measured. */
  readonly answers: { readonly model: readonly AnswerRecord[]; readonly reference: readonly AnswerRecord[] }
}

interface Context {
  readonly config: EvaluationConfig
  readonly prepared: PreparedEvaluation
  readonly ranks: Ranks
  readonly report: Report
  readonly signal: AbortSignal
}

/**
 * Measures a model and optionally a second one. The same options give the same numbers. Only one model is on the device at a
 * time, a reward model given as a directory last.
 *
 * @example
 * const { evaluation } = await evaluateModel({ model: 'runs/rl/final_model', data: 'test.jsonl', reward: 'reward.ts' })
 * console.log(evaluation.model.rewards?.reward?.mean, evaluation.model.accuracy?.value)
 */
export async function evaluateModel(options: EvaluationOptions): Promise<EvaluationResult> {
  const { report = silentReport, signal = new AbortController().signal, live, ...rest } = options
  const config = resolveEvaluation({ ...rest })
  const ranks = await Ranks.of(config, signal)
  const prepared = await prepareEvaluation(config, { report, signal, live }).catch(async error => {
    await ranks.close()
    throw error
  })
  try {
    const context: Context = { config, prepared, ranks, report, signal }
    const measured: MeasuredModel[] = []
    for (const model of prepared.models) measured.push(await measureModel(model, context))
    const answered = await scoreAll(measured, context)
    const results = measured.map((one, i) => resultOf(one, answered[i]!, context))
    const [model, reference] = results
    const won = prepared.measured.has('winRate') ? compare(answered[0]!, answered[1]!) : undefined
    const evaluation: Evaluation = {
      model: model!,
      ...(reference ? { reference } : {}),
      ...(won ? { winRate: won } : {}),
      leftOut: prepared.leftOut,
      settings: settingsOf(context),
    }
    return {
      evaluation,
      answers: { model: answerRecords(answered[0]!), reference: answerRecords(answered[1] ?? []) },
    }
  } finally {
    await prepared.close()
    await ranks.close()
  }
}

interface MeasuredModel {
  readonly prepared: PreparedModel
  readonly perplexity: Perplexity | undefined
  readonly answers: Answers | undefined
}

async function measureModel(prepared: PreparedModel, context: Context): Promise<MeasuredModel> {
  const { config, ranks, report, signal, prepared: evaluation } = context
  const { directory, adapter, conversations, name } = prepared
  const { device } = config
  const what = name === 'model' ? 'the model' : 'the reference'
  const settings = { device, adapter, gradientCheckpointing: false, seed: 0, role: 'language', what } as const
  const model = await loadFrozen(directory, settings, { ranks, report, signal })
  try {
    if (adapter !== undefined) await model.mergeAdapter()
    const measures = evaluation.measured
    const perplexity =
      conversations && measures.has('perplexity') ? await perplexityOf(model, conversations, context) : undefined
    const answers = answersWanted(measures) ? await answersOf(model, prepared, context) : undefined
    return { prepared, perplexity, answers }
  } finally {
    model.dispose()
  }
}

const units = (plural: string) => ({
  show: (amount: number) => `${Math.round(amount).toLocaleString('en')} ${plural}`,
  large: 100,
})

async function perplexityOf(
  model: TokenModel<'language'>,
  conversations: ExampleSet<ConversationExample>,
  { report, signal }: Context,
): Promise<Perplexity> {
  const progress = report.transfer('perplexity', units('rows'))
  let rows = 0
  const watched: ExampleSet<ConversationExample> = {
    ...{ size: conversations.size, counts: conversations.counts },
    async *parts() {
      // Small parts, for progress and a quick Ctrl-C.
      for await (const part of conversations.parts(32)) {
        yield part
        rows += part.length
        progress.at(rows, conversations.size)
      }
    },
  }
  try {
    const found = await evaluateSft({ model, validation: watched, packing: 'on', signal })
    return {
      value: found['validation/perplexity'],
      loss: found['loss/validation'],
      rows,
      truncated: conversations.counts.truncated,
    }
  } finally {
    progress.end()
  }
}

async function answersOf(
  model: LoadedModel<'language'>,
  { tokenizer, processor, prompts = [], name, rules }: PreparedModel,
  { config: { samples }, prepared: { sampling }, report, signal }: Context,
): Promise<Answers> {
  const generator = await engineOver(model, { tokenizer })
  const progress = report.transfer(name === 'model' ? 'answering' : 'answering (reference)', units('answers'))
  const total = prompts.length * samples
  const onAnswered = (count: number): void => progress.at(count, total)
  try {
    if (rules) return await episodeAnswers({ rules, generator, prompts, samples, sampling, signal, onAnswered })
    return await generateAnswers({ generator, tokenizer, processor, prompts, samples, sampling, signal, onAnswered })
  } finally {
    progress.end()
    await generator.close()
  }
}

/** The rewards of all models' answers, model by model. */
async function scoreAll(
  measured: readonly MeasuredModel[],
  { config, prepared: { rewards, measured: metrics }, ranks, report, signal }: Context,
): Promise<AnsweredPrompt[][]> {
  const wanted = (['reward', 'accuracy', 'winRate'] as const).some(metric => metrics.has(metric))
  const engine = rewards && wanted ? await rewards.open({ ranks, report, signal }) : undefined
  const progress = report.transfer('rewards', units('answers'))
  const all: AnsweredPrompt[][] = []
  const total = measured.reduce((sum, { answers }) => sum + inputsOf(answers).length, 0)
  let before = 0
  try {
    for (const { prepared, answers } of measured) {
      const inputs = inputsOf(answers)
      const onScored = (count: number): void => progress.at(before + count, total)
      const given = engine ? await scoreAnswers(engine, inputs, { signal, onScored }) : []
      // An environment's own reward and that of others are added, as in training.
      const added = config.reward !== undefined
      const outcomes = added ? given.map((one, i) => withEnvironmentReward(one, inputs[i]!)) : given
      const outcomeOf = new Map(outcomes.map((outcome, i) => [inputs[i]!, outcome]))
      all.push(
        (prepared.prompts ?? []).map((prompt, i) => ({
          prompt,
          answers: (answers?.inputs[i] ?? []).map(input => ({ input, outcome: outcomeOf.get(input) })),
        })),
      )
      before += inputs.length
    }
    return all
  } finally {
    progress.end()
  }
}

const inputsOf = (answers: Answers | undefined): readonly RewardInput[] => (answers?.inputs ?? []).flat()

function resultOf(
  { prepared: { directory, overlong }, perplexity, answers }: MeasuredModel,
  answered: readonly AnsweredPrompt[],
  { config, prepared: { measured } }: Context,
): ModelEvaluation {
  const { samples, correctAt = 1, bleuTokenizer } = config
  return {
    directory,
    ...(perplexity ? { perplexity } : {}),
    ...(answers ? { answers: countAnswers(answered, { unanswered: answers.unanswered, overlong }) } : {}),
    ...summarizeAnswers(answered, { measured, samples, correctAt, bleuTokenizer }),
  }
}

/** By row: models of different tokenizers may each have left out other prompts. */
function compare(model: readonly AnsweredPrompt[], reference: readonly AnsweredPrompt[]): WinRate | undefined {
  const others = new Map(reference.map(one => [one.prompt.promptId, one]))
  const duels = model.flatMap(one => {
    const other = others.get(one.prompt.promptId)
    return other ? [{ rewards: rewardsOf(one), otherRewards: rewardsOf(other) }] : []
  })
  return winRate(duels)
}

function settingsOf({ config, prepared: { files } }: Context): Evaluation['settings'] {
  const { samples, maxNewTokens, seed, reward } = config
  return {
    data: files,
    ...(typeof reward === 'string' ? { reward } : {}),
    ...{ samples, temperature: temperatureOf(config), maxNewTokens, seed },
  }
}
