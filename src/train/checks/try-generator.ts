/** What a generator must keep to whatever its tokenizer, tried with one request. */
import { InputError } from '../../errors/index.js'
import type { Generator, Outcome } from '../../rollout/index.js'

const methods = ['generate', 'abort', 'abortAll', 'pause', 'resume', 'updateWeights', 'sleep', 'wake', 'close'] as const

/** `what` names it in errors. */
export async function tryGenerator(
  generator: Generator,
  { what, vocabSize, signal }: { what: string; vocabSize: number; signal: AbortSignal },
): Promise<void> {
  const refuse = (message: string): never => {
    throw new InputError(`generator.type: ${what}: ${message}`)
  }
  const missing = methods.filter(name => typeof generator?.[name] !== 'function')
  if (missing.length > 0) refuse(`open must return a Generator, and ${missing.join(', ')} is missing`)
  const { capabilities, maxLength } = generator
  if (!Array.isArray(capabilities?.logprobs) || !Array.isArray(capabilities.weights))
    refuse('capabilities must have logprobs and how it gets weights')
  if (generator.vocabSize !== vocabSize)
    refuse(`vocabSize is ${generator.vocabSize}, and the policy has ${vocabSize} tokens`)
  if (!(maxLength >= 4)) refuse(`maxLength is ${maxLength}; expected the most tokens of prompt and response together`)
  const request = {
    id: 'whetstone-check',
    promptIds: Int32Array.of(0, 1),
    n: 2,
    sampling: { seed: 0, temperature: 1, maxNewTokens: 2 },
  }
  const outcomes: Outcome[] = []
  for await (const outcome of generator.generate([request], { signal })) outcomes.push(outcome)
  signal.throwIfAborted()
  const samples = outcomes.map(({ requestId, sample }) => `${requestId} ${sample}`).sort()
  if (samples.join() !== `${request.id} 0,${request.id} 1`)
    refuse(`asked for samples 0 and 1 of request ${request.id}, it gave ${samples.join(', ') || 'none'}`)
  for (const outcome of outcomes) {
    const { sample } = outcome
    if (outcome.kind !== 'completed') return refuse(`sample ${sample} is ${outcome.kind}: ${outcome.message}`)
    const { responseIds, logprobs, versions } = outcome
    if (!(responseIds instanceof Int32Array) || responseIds.length < 1 || responseIds.length > 2)
      return refuse(`responseIds of sample ${sample} have to be an Int32Array of 1 or 2 tokens`)
    const strange = responseIds.find(id => id < 0 || id >= vocabSize)
    if (strange !== undefined)
      refuse(`sample ${sample} has the token ${strange}, and the vocabulary ends at ${vocabSize}`)
    const { length } = responseIds
    for (const [meaning, values] of Object.entries(logprobs ?? {}))
      if (values !== undefined && (values.length !== length || !values.every(Number.isFinite)))
        refuse(`${meaning} log-probabilities of sample ${sample}: expected ${length} finite numbers`)
    if (versions?.at(-1)?.end !== length) refuse(`versions of sample ${sample} have to cover its ${length} tokens`)
  }
}
