/** vLLM's protocol: `/v1/completions` with token ids, and `/inference/v1/generate` where the server has it. */
import type { VisionConfig } from '../../decoder/index.js'
import type { Dialect } from '../remote/dialect.js'
import type { AudioConfig } from '../remote/sent-media.js'
import {
  completionsAnswer,
  completionsReader,
  quickTokensAnswer,
  refusal,
  tokensAnswer,
  tokensReader,
} from './answers.js'
import * as control from './control.js'
import { generationBody } from './generation.js'
import { prepareMedia } from './prepared-media.js'
import { inspect, probe } from './probe.js'

interface VllmOptions {
  /** The served model's name. */
  readonly model?: string | undefined
  /** Of a model that reads images: the probe finds out whether the server does too. */
  readonly vision?: VisionConfig | undefined
  /** The same for audio. */
  readonly audio?: AudioConfig | undefined
}

export function vllmDialect({ model, vision, audio }: VllmOptions = {}): Dialect {
  return {
    type: 'vllm',
    inspect: server => inspect(server, model),
    probe: server => probe(server, { wanted: model, vision, audio }),
    prepare: prepareMedia,
    generation: generationBody,
    answer: (body, attempt, facts) =>
      facts.route === 'tokens' ? tokensAnswer(body, attempt) : completionsAnswer(body, attempt),
    quickAnswer: (text, attempt, facts) => (facts.route === 'tokens' ? quickTokensAnswer(text, attempt) : undefined),
    reader: (attempt, facts) => (facts.route === 'tokens' ? tokensReader(attempt) : completionsReader(attempt)),
    refusal,
    ...control,
  }
}
