/** `POST /v1/sessions/ID/end`: the reward that an agent gives its episode. */
import { malformed } from '../errors.js'
import { number } from '../field-schemas.js'
import { type FieldTable, honoured, type JsonObject, RequestShape } from '../request-shape.js'

const endFields = {
  reward: honoured(number, 'a finite number; none: the episode has no reward of its own'),
} satisfies FieldTable

const shape = new RequestShape(endFields)

export function endReward(body: JsonObject): number | undefined {
  const { reward } = shape.read(body)
  if (reward !== undefined && !Number.isFinite(reward))
    throw malformed('reward: expected a finite number', 'body.reward')
  return reward
}
