/**
 * A transformer of some thousand weights for the protocol doubles: a Hugging Face directory of the Qwen2 family, computed one
 * token at a time in float64. With it a double serves the model that a run trains, and knows nothing of the code that trains it.
 */
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

interface Shape {
  readonly hidden_size: number
  readonly num_hidden_layers: number
  readonly num_attention_heads: number
  readonly num_key_value_heads: number
  readonly rms_norm_eps: number
  readonly tie_word_embeddings: boolean
  readonly rope_theta?: number
  readonly rope_parameters?: { readonly rope_theta: number }
}

interface Adapter {
  readonly rank: number
  readonly scale: number
  readonly matrices: ReadonlyMap<string, Matrix>
}

/** By their directories: a server holds what it has loaded, wherever the directory is by now. */
const adapters = new Map<string, Adapter>()

/** Reads an adapter in PEFT's format. Whether there is one. */
export function readAdapter(directory: string): boolean {
  const file = join(directory, 'adapter_model.safetensors')
  if (!existsSync(file)) return false
  const { r: rank, lora_alpha } = readJson(directory, 'adapter_config.json') as { r: number; lora_alpha: number }
  adapters.set(directory, { rank, scale: lora_alpha / rank, matrices: readSafetensors(file) })
  return true
}

/** Keys and values of one token and of all before it, and what the last layer says of it. */
export interface TransformerState {
  readonly before: TransformerState | undefined
  readonly position: number
  readonly keys: readonly Float64Array[]
  readonly values: readonly Float64Array[]
  readonly hidden: Float64Array
}

interface Matrix {
  readonly rows: number
  readonly columns: number
  readonly numbers: Float64Array
}

export class ToyTransformer {
  private constructor(
    private readonly shape: Shape,
    private readonly weights: ReadonlyMap<string, Matrix>,
  ) {}

  /** Undefined where the directory holds no model. */
  static read(directory: string): ToyTransformer | undefined {
    const file = join(directory, 'model.safetensors')
    if (!existsSync(file)) return undefined
    return new ToyTransformer(readJson(directory, 'config.json') as Shape, readSafetensors(file))
  }

  /** These weights with an adapter that was read over them. */
  with(adapter: string): ToyTransformer {
    const { rank, scale, matrices } = adapters.get(adapter)!
    const weights = new Map(this.weights)
    for (const [name, a] of matrices) {
      if (!name.includes('lora_A')) continue
      const b = matrices.get(name.replace('lora_A', 'lora_B'))!
      const target = name.replace('base_model.model.', '').replace('.lora_A', '')
      const { rows, columns, numbers } = weights.get(target)!
      const sum = numbers.map((value, at) => {
        const [row, column] = [Math.floor(at / columns), at % columns]
        let low = 0
        for (let k = 0; k < rank; k++) low += b.numbers[row * rank + k]! * a.numbers[k * columns + column]!
        return value + scale * low
      })
      weights.set(target, { rows, columns, numbers: sum })
    }
    return new ToyTransformer(this.shape, weights)
  }

  next(before: TransformerState | undefined, id: number): TransformerState {
    const { num_hidden_layers: layers, hidden_size: width } = this.shape
    const position = before ? before.position + 1 : 0
    const [keys, values]: [Float64Array[], Float64Array[]] = [[], []]
    let x: Float64Array = this.named('model.embed_tokens.weight').numbers.slice(id * width, (id + 1) * width)
    for (let layer = 0; layer < layers; layer++) {
      const at = `model.layers.${layer}`
      const normed = this.norm(x, `${at}.input_layernorm.weight`)
      const project = (name: string): Float64Array =>
        added(this.times(`${at}.self_attn.${name}_proj.weight`, normed), this.bias(`${at}.self_attn.${name}_proj.bias`))
      keys.push(this.rotated(project('k'), position))
      values.push(project('v'))
      const mixed = this.attention(this.rotated(project('q'), position), { before, keys, values, layer })
      x = added(x, this.times(`${at}.self_attn.o_proj.weight`, mixed))
      const second = this.norm(x, `${at}.post_attention_layernorm.weight`)
      const up = this.times(`${at}.mlp.up_proj.weight`, second)
      const gate = this.times(`${at}.mlp.gate_proj.weight`, second)
      const act = gate.map((value, i) => (value / (1 + Math.exp(-value))) * up[i]!)
      x = added(x, this.times(`${at}.mlp.down_proj.weight`, act))
    }
    return { before, position, keys, values, hidden: this.norm(x, 'model.norm.weight') }
  }

  logits({ hidden }: TransformerState): Float64Array {
    const head = this.shape.tie_word_embeddings ? 'model.embed_tokens.weight' : 'lm_head.weight'
    return this.times(head, hidden)
  }

  private attention(
    queries: Float64Array,
    own: { before: TransformerState | undefined; keys: Float64Array[]; values: Float64Array[]; layer: number },
  ): Float64Array {
    const { num_attention_heads: heads, num_key_value_heads: kvHeads } = this.shape
    const { before, layer } = own
    const size = queries.length / heads
    const rows = [{ key: own.keys[layer]!, value: own.values[layer]! }]
    for (let state = before; state; state = state.before)
      rows.push({ key: state.keys[layer]!, value: state.values[layer]! })
    const mixed = new Float64Array(queries.length)
    for (let head = 0; head < heads; head++) {
      const from = Math.floor((head * kvHeads) / heads) * size
      const scores = rows.map(({ key }) => {
        let sum = 0
        for (let i = 0; i < size; i++) sum += queries[head * size + i]! * key[from + i]!
        return sum / Math.sqrt(size)
      })
      const most = Math.max(...scores)
      const shares = scores.map(score => Math.exp(score - most))
      const total = shares.reduce((a, b) => a + b, 0)
      for (const [j, { value }] of rows.entries())
        for (let i = 0; i < size; i++) mixed[head * size + i]! += (shares[j]! / total) * value[from + i]!
    }
    return mixed
  }

  /** Halves of each head are turned against each other. */
  private rotated(x: Float64Array, position: number): Float64Array {
    const { num_attention_heads: heads, hidden_size: width, rope_parameters, rope_theta } = this.shape
    const theta = rope_parameters?.rope_theta ?? rope_theta ?? 10_000
    const size = width / heads
    return x.map((value, at) => {
      const i = at % size
      const half = size / 2
      const angle = position * theta ** (-(2 * (i % half)) / size)
      const other = i < half ? -x[at + half]! : x[at - half]!
      return value * Math.cos(angle) + other * Math.sin(angle)
    })
  }

  private norm(x: Float64Array, name: string): Float64Array {
    const weight = this.named(name).numbers
    const scale = 1 / Math.sqrt(x.reduce((sum, value) => sum + value * value, 0) / x.length + this.shape.rms_norm_eps)
    return x.map((value, i) => value * scale * weight[i]!)
  }

  private times(name: string, x: Float64Array): Float64Array {
    const { rows, columns, numbers } = this.named(name)
    const product = new Float64Array(rows)
    for (let row = 0; row < rows; row++)
      for (let i = 0; i < columns; i++) product[row]! += numbers[row * columns + i]! * x[i]!
    return product
  }

  private bias(name: string): Float64Array | undefined {
    return this.weights.get(name)?.numbers
  }

  private named(name: string): Matrix {
    const found = this.weights.get(name)
    if (!found) throw new Error(`the toy has no ${name}; it has ${[...this.weights.keys()].join(', ')}`)
    return found
  }
}

function added(x: Float64Array, y: Float64Array | undefined): Float64Array {
  return y ? x.map((value, i) => value + y[i]!) : x
}

function readJson(directory: string, name: string): unknown {
  return JSON.parse(readFileSync(join(directory, name), 'utf8'))
}

function readSafetensors(path: string): Map<string, Matrix> {
  const bytes = readFileSync(path)
  const start = 8 + Number(bytes.readBigUInt64LE(0))
  const header = JSON.parse(bytes.subarray(8, start).toString()) as Record<
    string,
    { dtype: string; shape: number[]; data_offsets: [number, number] }
  >
  const { __metadata__: _, ...tensors } = header
  return new Map(
    Object.entries(tensors).map(([name, { dtype, shape, data_offsets }]) => {
      const [rows, columns = 1] = shape as [number, number?]
      const data = new DataView(bytes.buffer, bytes.byteOffset + start + data_offsets[0])
      return [name, { rows, columns, numbers: Float64Array.from({ length: rows * columns }, reading(dtype, data)) }]
    }),
  )
}

function reading(dtype: string, data: DataView): (_: unknown, at: number) => number {
  if (dtype === 'F32') return (_, at) => data.getFloat32(4 * at, true)
  if (dtype !== 'BF16') throw new Error(`the toy does not read ${dtype}`)
  const widened = new DataView(new ArrayBuffer(4))
  return (_, at) => {
    widened.setUint16(2, data.getUint16(2 * at, true), true)
    return widened.getFloat32(0, true)
  }
}
