/** `GET /v1/models`, `GET /v1/models/{id}`, `POST /tokenize`, `POST /detokenize`. */
import { encodeMessages, encodeText } from './encode-prompts.js'
import { badRequest } from './errors.js'
import { type Exchange, type Served, weightsOf } from './exchange.js'
import { detokenizeFields, tokenizeFields } from './field-tables.js'
import { RequestShape } from './request-shape.js'
import type { WeightSet } from './weight-turns.js'

const tokenizeShape = new RequestShape(tokenizeFields)
const detokenizeShape = new RequestShape(detokenizeFields)

/** An adapter has the model as its parent. */
const modelEntry = ({ name, started, limits }: Served, set: WeightSet): object => ({
  id: set.name,
  object: 'model',
  created: started,
  owned_by: 'whetstone',
  root: set.source ?? set.name,
  parent: set.name === name ? null : name,
  max_model_len: limits.maxLength,
})

export function models(served: Served, exchange: Exchange): void {
  exchange.json(200, { object: 'list', data: [...served.sets.values()].map(set => modelEntry(served, set)) })
}

/** The model of a path; names may have slashes. */
export function model(served: Served, exchange: Exchange, name: string): void {
  exchange.json(200, modelEntry(served, weightsOf(served, name)))
}

export async function tokenize(served: Served, exchange: Exchange): Promise<void> {
  const fields = tokenizeShape.read(exchange.body)
  weightsOf(served, fields.model)
  const { tokenizer } = served
  if (!tokenizer) throw badRequest('this model has no tokenizer.')
  const { prompt, messages } = fields
  if (prompt === undefined && messages === undefined) throw badRequest('prompt or messages is needed.', 'prompt')
  const addSpecialTokens = fields.add_special_tokens ?? true
  const ids =
    prompt === undefined
      ? (await encodeMessages(served, fields, 'cut', exchange)).ids
      : await encodeText(served, prompt, { addSpecialTokens, use: 'cut' }, exchange)
  exchange.json(200, {
    count: ids.length,
    max_model_len: served.limits.maxLength,
    tokens: Array.from(ids),
    token_strs: fields.return_token_strs ? Array.from(ids, id => tokenizer.tokenOf(id) ?? '') : null,
  })
}

/** Limit of one request, in contexts. */
const mostContexts = 8

export async function detokenize(served: Served, exchange: Exchange): Promise<void> {
  const fields = detokenizeShape.read(exchange.body)
  weightsOf(served, fields.model)
  if (!served.tokenizer) throw badRequest('this model has no tokenizer.')
  const { tokens } = fields
  if (!tokens) throw badRequest('tokens is needed.', 'tokens')
  const { vocabSize, maxLength } = served.limits
  const most = mostContexts * maxLength
  if (tokens.length > most) throw badRequest(`at most ${most} tokens are decoded, got ${tokens.length}.`, 'tokens')
  const stray = tokens.find(id => id < 0 || id >= vocabSize)
  if (stray !== undefined) throw badRequest(`Token id ${stray} is out of vocabulary`)
  exchange.json(200, { prompt: await served.tokenizer.decode(tokens) })
}
