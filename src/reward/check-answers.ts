import type { FailedReward, FailureReason, SourceOutcome } from './outcome.js'

/** Turns the result of a source into one outcome per sample; only finite numbers become rewards. */
export function checkAnswers(source: string, count: number, answers: unknown): SourceOutcome[] {
  const fail = (reason: FailureReason, message: string): FailedReward => ({ kind: 'failed', reason, message, source })
  const all = (failure: FailedReward) => Array.from({ length: count }, () => failure)
  if (!isList(answers))
    return all(fail('wrong-type', `expected a list of ${count} rewards, one per sample, got ${describe(answers)}`))
  if (answers.length !== count)
    return all(fail('wrong-count', `${answers.length} rewards for ${count} samples; return exactly one per sample`))
  return Array.from(answers, answer => checkAnswer(answer, fail))
}

function checkAnswer(answer: unknown, fail: (reason: FailureReason, message: string) => FailedReward): SourceOutcome {
  if (typeof answer === 'number') {
    if (Number.isFinite(answer)) return { kind: 'scored', reward: answer }
    return fail('non-finite', `the reward is ${answer}`)
  }
  if (typeof answer !== 'object' || answer === null)
    return fail('wrong-type', `expected a number, got ${describe(answer)}`)
  const { kind, reward, metrics, reason, message } = answer as Record<string, unknown>
  if (kind === 'failed') return fail(reason as FailureReason, String(message))
  const score = checkAnswer(typeof reward === 'object' ? String(reward) : reward, fail)
  if (score.kind === 'failed' || metrics === undefined) return score
  if (typeof metrics !== 'object' || metrics === null)
    return fail('wrong-type', `metrics: expected an object of numbers, got ${describe(metrics)}`)
  const finite = Object.entries(metrics).filter(([, value]) => Number.isFinite(value))
  return { ...score, metrics: Object.fromEntries(finite) as Record<string, number> }
}

/** Arrays and typed arrays: what numeric code returns. */
function isList(value: unknown): value is ArrayLike<unknown> {
  return Array.isArray(value) || (ArrayBuffer.isView(value) && !(value instanceof DataView))
}

function describe(value: unknown): string {
  if (value === null || value === undefined) return String(value)
  if (typeof value === 'boolean') return `${value} (return 1 or 0)`
  if (Array.isArray(value)) return 'a list'
  return typeof value === 'object' ? 'an object' : `a ${typeof value}`
}
