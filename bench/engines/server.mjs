/**
 * A server that answers at once, in a process of its own, so that its time is not counted as the client's. It speaks as much
 * of vLLM's or SGLang's language as generating needs, and says the same to everyone: what a response of 512 tokens looks like.
 *
 *   node server.mjs vllm-tokens|vllm-completions|sglang [delay in ms]
 */
import { createServer } from 'node:http'

/** @typedef {'vllm-tokens' | 'vllm-completions' | 'sglang'} Dialect */
const dialect = /** @type {Dialect} */ (process.argv[2])
const delayMs = Number(process.argv[3] ?? 0)

const id = (/** @type {number} */ i) => (i * 7919) % 30_000
// As many digits as real ones have.
const logprob = (/** @type {number} */ i) => -0.01234567 - ((i * 0.7310585786) % 5)

const answers = {
  /** @param {number} count @param {number} [only] */
  'vllm-tokens': (count, only) => ({
    ...{ request_id: 'generate-tokens-whetstone-1', model: 'bench', created: 1_794_793_851, output_mode: 'tokens' },
    usage: { prompt_tokens: 64, total_tokens: 64 + count, completion_tokens: count, prompt_tokens_details: null },
    prompt_logprobs: null,
    choices: [
      {
        ...{ index: 0, finish_reason: 'length', stop_reason: null, routed_experts: null, sampling_mask: null },
        token_ids: Array.from({ length: count }, (_, i) => id(i)),
        weight_versions: [{ version: 'default', start: 0, end: count }],
        logprobs: {
          content: Array.from({ length: count }, (_, i) => {
            const one = { token_id: id(i), logprob: only ?? logprob(i), rank: 1 + (i % 50) }
            return { ...one, top_logprobs: [one] }
          }),
        },
      },
    ],
  }),
  /** @param {number} count @param {number} [only] */
  'vllm-completions': (count, only) => ({
    ...{ id: 'cmpl-whetstone-1', object: 'text_completion', created: 1_794_793_851, model: 'bench' },
    choices: [
      {
        ...{ index: 0, text: 'word '.repeat(count), finish_reason: 'length', stop_reason: null },
        token_ids: Array.from({ length: count }, (_, i) => id(i)),
        prompt_logprobs: null,
        prompt_token_ids: Array.from({ length: 64 }, (_, i) => id(i)),
        logprobs: {
          text_offset: Array.from({ length: count }, (_, i) => 5 * i),
          token_logprobs: Array.from({ length: count }, (_, i) => only ?? logprob(i)),
          tokens: Array.from({ length: count }, (_, i) => `token_id:${id(i)}`),
          top_logprobs: Array.from({ length: count }, (_, i) => ({ [`token_id:${id(i)}`]: only ?? logprob(i) })),
        },
      },
    ],
    usage: { prompt_tokens: 64, total_tokens: 64 + count, completion_tokens: count, prompt_tokens_details: null },
  }),
  /** @param {number} count @param {number} [only] */
  sglang: (count, only) => ({
    text: 'word '.repeat(count),
    output_ids: Array.from({ length: count }, (_, i) => id(i)),
    meta_info: {
      ...{ id: 'whetstone-1', finish_reason: { type: 'length', length: count }, prompt_tokens: 64 },
      ...{ weight_version: 'default', num_retractions: 0, input_token_logprobs: [], completion_tokens: count },
      output_token_logprobs: Array.from({ length: count }, (_, i) => [only ?? logprob(i), id(i), null]),
      output_top_logprobs: Array.from({ length: count }, (_, i) => [[only ?? logprob(i), id(i), null]]),
      weight_versions: [{ version: 'default', start: 0, end: count }],
    },
  }),
}

/** @type {Map<string, Buffer>} */
const written = new Map()
/** @param {string} body */
function generation(body) {
  const count = Number(/"max_(?:new_)?tokens":(\d+)/.exec(body)?.[1] ?? 16)
  // What a client asks to find out what log-probabilities mean: the likeliest token alone, and at another temperature.
  const only = count > 1 ? undefined : /"top_k":1\b/.test(body) ? 0 : /"temperature":4\b/.test(body) ? -3 : -1.5
  const key = `${count}/${only}`
  const known = written.get(key)
  if (known) return known
  const made = Buffer.from(JSON.stringify(answers[dialect](count, only)))
  written.set(key, made)
  return made
}

const generates = {
  'vllm-tokens': '/inference/v1/generate',
  'vllm-completions': '/v1/completions',
  sglang: '/generate',
}
/** @type {Record<string, unknown>} */
const facts = dialect.startsWith('vllm')
  ? {
      '/health': '',
      '/version': { version: '0.32.0' },
      '/v1/models': { data: [{ id: 'bench', parent: null, owned_by: 'vllm', max_model_len: 4096 }] },
      '/is_paused': { is_paused: false },
      '/is_sleeping': { is_sleeping: false },
      '/resume': { status: 'resumed' },
      '/weight_info': { weight_version: 'default' },
      '/abort_requests': { status: 'aborted', aborted: 0 },
    }
  : {
      '/ready': '',
      '/server_info': { version: '0.5.23', max_req_input_len: 4000, served_model_name: 'bench' },
      '/model_info': { is_generation: true, weight_version: 'default' },
      '/continue_generation': { status: 'ok' },
    }

const server = createServer((request, response) => {
  const path = request.url ?? ''
  /** @param {number} status @param {string | Buffer} body */
  const answer = (status, body) => {
    response.writeHead(status, { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) })
    response.end(body)
  }
  /** @type {Buffer[]} */
  const pieces = []
  request.on('data', piece => pieces.push(piece))
  request.on('end', () => {
    const found = facts[path.split('?')[0]]
    if (found !== undefined) answer(200, found === '' ? '' : JSON.stringify(found))
    else if (path !== generates[dialect]) answer(404, '{"detail":"Not Found"}')
    else {
      const body = generation(Buffer.concat(pieces).toString())
      if (delayMs === 0) answer(200, body)
      else setTimeout(() => answer(200, body), delayMs)
    }
  })
})
// The bench pauses between rounds: a connection that ends in a pause would fail the next request of the peer.
server.keepAliveTimeout = 0
server.listen(0, '127.0.0.1', () => {
  const address = server.address()
  process.send?.({ port: typeof address === 'object' ? address?.port : undefined })
})
process.on('disconnect', () => process.exit(0))
