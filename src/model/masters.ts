/** Where training starts from: float32 copies of the 16-bit weights that are trained. */
import { checkpointViews } from '../decoder/index.js'
import { Checkpoint, type DType, dither, noGrad, type Tensor, unscoped, where, zeros } from '../tensor/index.js'
import { ModelError } from './errors.js'
import type { Parameters } from './parameters.js'
import { once } from './weights.js'

/**
 * `dither`: each master starts at a random place inside the rounding cell of its weight, so that weights follow their masters from
 * the first step on; the first forward pass is the same. Where the checkpoint has more bits than the weights, its own numbers are
 * taken. `exact`: masters are the 16-bit values.
 */
export type MastersKind = 'dither' | 'exact'

/** Masters without numbers, by the names of the weights. A model whose weights are not 16-bit has none. */
export function allocateMasters(weights: Parameters): Map<string, Tensor> {
  const narrow = [...weights.trained()].filter(([, { dtype }]) => digits(dtype) < digits('float32'))
  return unscoped(
    () =>
      new Map(
        narrow.map(([name, { shape, device }]) => [name, noGrad(() => zeros(shape, { dtype: 'float32', device }))]),
      ),
  )
}

interface MastersStart {
  kind: MastersKind
  /** Of what is drawn. */
  seed: number
  /** Of `sourcesWithMoreBits`. */
  sources: readonly string[]
}

/** Which of these model directories and safetensors files hold numbers with more digits than a dtype has. */
export async function sourcesWithMoreBits(paths: readonly string[], dtype: DType): Promise<string[]> {
  const found: string[] = []
  for (const path of paths) {
    const source = await Checkpoint.open(path)
    if (source.names.some(name => digits(source.info(name).dtype) > digits(dtype))) found.push(path)
    await source.close()
  }
  return found
}

/** Gives masters the numbers they start with. */
export async function startMasters(
  masters: ReadonlyMap<string, Tensor>,
  weights: Parameters,
  { kind, seed, sources }: MastersStart,
): Promise<void> {
  const trained = weights.trained()
  if (kind === 'exact') {
    await once(() => {
      for (const [name, master] of masters) master.copy_(trained.get(name)!)
    })
    return
  }
  const opened = masters.size > 0 ? await openSources(sources) : []
  const views = namedViews(weights, masters)
  try {
    for (const [name, { weight, master }] of views) await startOne(name, { weight, master, seed, opened })
  } finally {
    for (const { weight, master } of views.values()) {
      weight.dispose()
      master.dispose()
    }
    for (const source of opened) await source.close()
  }
}

/** Weights and masters by the names of the checkpoint, so that what is drawn does not depend on how tensors are stored here. */
function namedViews(
  weights: Parameters,
  masters: ReadonlyMap<string, Tensor>,
): Map<string, { weight: Tensor; master: Tensor }> {
  const map = weights.weightMap.filter(({ name }) => masters.has(name))
  const others = [...(weights.adapter?.tensors() ?? [])].filter(([name]) => masters.has(name))
  return unscoped(() =>
    noGrad(() => {
      const [own, theirs] = [checkpointViews(map, masters), checkpointViews(map, weights.tensors)]
      return new Map([
        ...[...own].map(([name, master]) => [name, { weight: theirs.get(name)!, master }] as const),
        ...others.map(
          ([name, tensor]) => [name, { weight: tensor.detach(), master: masters.get(name)!.detach() }] as const,
        ),
      ])
    }),
  )
}

async function startOne(
  name: string,
  given: { weight: Tensor; master: Tensor; seed: number; opened: readonly Checkpoint[] },
): Promise<void> {
  const { weight, master, seed, opened } = given
  const drawn = await ditherCopy(weight, { seed, name })
  const source = opened.find(one => one.has(name) && hasMoreBits(one, name, weight))
  const read = await source?.read(name)
  // A 16-bit type with more digits than the weights' has cells of its own inside theirs.
  const own = read && digits(read.dtype) < digits('float32') ? await ditherCopy(read, { seed, name }) : read
  try {
    await once(() => {
      if (!own) master.copy_(drawn)
      else {
        const wide = own.toCopy({ dtype: 'float32', device: weight.device })
        // Weights that were changed after they had been read are no longer the checkpoint's.
        master.copy_(where(wide.toCopy({ dtype: weight.dtype }).eq(weight), wide, drawn))
      }
    })
  } finally {
    for (const tensor of new Set([drawn, read, own])) tensor?.dispose()
  }
}

async function ditherCopy(weight: Tensor, key: { seed: number; name: string }): Promise<Tensor> {
  const [cells, drawn, finite] = await once(() => [
    weight.clone(),
    weight.toCopy({ dtype: 'float32' }),
    weight.isfinite().all(),
  ])
  const [allFinite] = await finite!.data()
  finite!.dispose()
  try {
    if (!allFinite) throw new ModelError(`${key.name} contains infinity or NaN and cannot be trained`)
    await once(() => dither(cells!, drawn!, key))
    return drawn!
  } catch (error) {
    drawn!.dispose()
    throw error
  } finally {
    cells!.dispose()
  }
}

/** Headers are read; tensors when they are asked for. */
async function openSources(sources: readonly string[]): Promise<Checkpoint[]> {
  const opened: Checkpoint[] = []
  try {
    for (const source of sources) opened.push(await Checkpoint.open(source))
    return opened
  } catch (cause) {
    for (const one of opened) await one.close()
    const why = cause instanceof Error ? cause.message : String(cause)
    throw new ModelError(
      `training reads the checkpoint again at the first step, and it cannot be opened (${why}). Keep it in place until then, or train with masters: exact.`,
      { cause },
    )
  }
}

function hasMoreBits(source: Checkpoint, name: string, { dtype, shape }: Tensor): boolean {
  const found = source.info(name)
  return digits(found.dtype) > digits(dtype) && found.shape.join() === shape.join()
}

/** Binary digits after the first. */
function digits(dtype: string): number {
  const known: Partial<Record<string, number>> = {
    float64: 52,
    float32: 23,
    float16: 10,
    bfloat16: 7,
  } satisfies Partial<Record<DType, number>>
  return known[dtype] ?? 0
}
