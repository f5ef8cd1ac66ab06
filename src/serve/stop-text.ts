/** The text that ended a response, for `include_stop_str_in_output`. */
import type { Sample } from '../rollout/index.js'
import type { Tokenizer } from '../text/index.js'
import type { SamplingRequest } from './sampling-fields.js'

export async function stopText(
  tokenizer: Tokenizer | undefined,
  { finishReason, stopReason, responseIds }: Sample,
  { includeStop, skipSpecialTokens }: SamplingRequest,
): Promise<string> {
  if (!includeStop || finishReason !== 'stop' || !tokenizer) return ''
  if (typeof stopReason === 'string') return stopReason
  return tokenizer.decode(responseIds.subarray(-1), { skipSpecialTokens })
}
