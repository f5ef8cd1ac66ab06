/** A TokenModel in plain numbers: a row of weights per token is all that the next token, a value or a score depends on. */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import * as m from '../../../src/model/index.js'
import { idsOf, type Wanted, wantedPositions } from '../../../src/model/model-input.js'

const refuse = (wrong: boolean, why: string): void => {
  if (wrong) throw new m.ModelError(why)
}

export class ScriptedModel<R extends m.Role> implements m.TokenModel<R> {
  version = 0
  readonly vocabSize = 12
  readonly maxLength = 64
  readonly capabilities: m.ModelCapabilities = {
    ...{ train: true, adapterOff: false, entropy: false, media: false, exports: ['model'], offload: true },
  }
  private weights: number[][]
  private gradient: number[][] | undefined
  private half = false
  private away = false

  constructor(readonly role: R) {
    const columns = [...Array(role === 'language' ? 12 : 1).keys()]
    this.weights = Array.from({ length: 12 }, (_, i) => columns.map(j => Math.sin(7 * i + j)))
  }

  /** The numbers of a sequence: where, how much, and their derivatives by the weights of the token there. */
  private outputs(input: m.ModelInput, { start, end, kept }: Wanted) {
    const ids = idsOf(input)
    const places = kept ?? Int32Array.from({ length: end - start }, (_, k) => k)
    return Array.from(places, k => {
      const token = ids[start + k]!
      const row = this.weights[token]!
      if (this.role !== 'language') return { token, value: row[0]!, slope: [1] }
      const sum = row.reduce((total, x) => total + Math.exp(x), 0)
      const slope = row.map((x, j) => Number(j === ids[start + k + 1]) - Math.exp(x) / sum)
      return { token, value: row[ids[start + k + 1]!]! - Math.log(sum), slope }
    })
  }

  async score(sequences: readonly m.ModelInput[], options: m.ScoreOptions = {}): Promise<m.Outputs[R][]> {
    refuse(this.away, 'offloaded; reload() brings it back')
    const wanted = wantedPositions(this.role, sequences, { ...options, padding: undefined })
    return sequences.map((one, i) => {
      const values = Float32Array.from(this.outputs(one, wanted(i)), ({ value }) => value)
      const roles = { language: { logprobs: values }, value: { values }, reward: { score: values[0]! } }
      return roles[this.role] as m.Outputs[R]
    })
  }

  async forwardBackward(...[given, loss, options = {}]: Parameters<m.TokenModel<R>['forwardBackward']>): Promise<void> {
    const scored = await this.score(given, options)
    const wanted = wantedPositions(this.role, given, { ...options, padding: undefined })
    this.half = true
    this.gradient ??= this.weights.map(row => row.map(() => 0))
    for (const [i, one] of given.entries()) {
      options.signal?.throwIfAborted()
      const answer = loss([scored[i]!], [i])
      if (answer.length !== 1) throw new RangeError(`1 output needs 1 gradient, got ${answer.length}`)
      const slopes = Object.values(answer[0]!).flatMap(part => (typeof part === 'number' ? part : [...part]))
      if (!slopes.every(Number.isFinite)) throw new m.NonFiniteError('the gradient', i)
      for (const [k, { token, slope }] of this.outputs(one, wanted(i)).entries())
        for (const [j, by] of slope.entries()) this.gradient[token]![j]! += by * (slopes[k] ?? 0)
    }
    this.half = false
  }

  /** Plain gradient descent: a double shows when a model steps, not how. */
  async step(options: m.TrainStepOptions): Promise<m.TrainStepResult> {
    m.checkStepOptions(options)
    refuse(this.away || this.half || !this.gradient, 'offloaded, no gradients, or half a batch that zeroGrad() drops')
    const { lr, clipNorm = Number.POSITIVE_INFINITY, weightDecay = 0 } = options
    const norm = Math.hypot(...this.gradient!.flat())
    const next = (w: number, g: number): number => w - lr * (Math.min(1, clipNorm / norm) * g + weightDecay * w)
    this.weights = this.weights.map((row, i) => row.map((w, j) => next(w, this.gradient![i]![j]!)))
    this.zeroGrad()
    return { norm, version: ++this.version }
  }

  async export(directory: string, { what }: m.ExportOptions): Promise<m.ExportReport> {
    refuse(this.away || what !== 'model' || directory === '', `offloaded, or no ${what} to write to "${directory}"`)
    mkdirSync(directory, { recursive: true })
    const { role, version, weights } = this
    writeFileSync(join(directory, 'model.json'), JSON.stringify({ role, version, weights }))
    return { directory, what, merged: false, parameters: weights.flat().length, bytes: 8 * weights.flat().length }
  }

  async saveState(directory: string): Promise<void> {
    refuse(!this.away && this.gradient !== undefined, 'call step() or zeroGrad() first')
    await this.export(directory, { what: 'model' })
  }

  async loadState(directory: string): Promise<void> {
    const { role, ...state } = JSON.parse(readFileSync(join(directory, 'model.json'), 'utf8'))
    refuse(this.away || role !== this.role, `offloaded, or role is ${role}, this model's is ${this.role}`)
    Object.assign(this, { ...state, gradient: undefined, half: false })
  }

  zeroGrad = (): void => void Object.assign(this, { gradient: undefined, half: false })
  offload = async (): Promise<void> => void Object.assign(this, { away: true })
  reload = async (): Promise<void> => void Object.assign(this, { away: false })
  dispose = (): void => {}
}
