import { type AdapterOptions, type LoadOptions, LocalModel, type Role, type TokenModel } from '../../src/model/index.js'
import { roles } from '../../src/model/outputs.js'
import { ScriptedModel } from '../support/doubles/scripted-model.js'
import { tinyConfig } from '../support/tiny-model.js'
import { tokenModelContract } from './token-model-contract.js'

const adapter: AdapterOptions & { seed: number } = {
  ...{ rank: 4, alpha: 8, dropout: 0, seed: 3 },
  targets: ['q_proj', 'v_proj', 'o_proj', 'gate_proj'],
}
const local =
  (role: Role, options: Partial<LoadOptions<Role>> = {}) =>
  (): Promise<TokenModel> =>
    LocalModel.create(tinyConfig('qwen2'), { seed: 1, ...options, role } as LoadOptions<Role> & {
      role: Role
      seed: number
    })

for (const role of roles) {
  tokenModelContract(`a scripted ${role} model`, async () => new ScriptedModel(role))
  tokenModelContract(`a local ${role} model`, local(role))
  tokenModelContract(`a local ${role} model with an adapter`, local(role, { adapter }))
}
tokenModelContract('a local model in small batches', local('language', { tokenBudget: 8 }))
