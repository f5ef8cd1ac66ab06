/** Arithmetic from what was measured on two ranks to many GPUs: where the controller, the store and the network saturate. */

/** A GPU trains so many tokens of a 7B model per second (7e9 x 6 operations a token, 400e12 a second), and scores three times as many. */
const tokensPerGpu = 9_500
const parameters = 7e9

/**
 * @param {{ microseconds: number, bytes: number }} controller per token of an iteration
 * @returns {string} a table
 */
export function saturation({ microseconds, bytes }) {
  // An iteration scores with policy and reference, and trains: as long as 5/3 of its training.
  const perGpu = tokensPerGpu * 0.6
  const rows = [8, 64, 1024].map(gpus => {
    const tokens = gpus * perGpu
    const thread = (tokens * microseconds) / 1e6
    const wire = tokens * bytes
    // A step of 0.5 M tokens per 8 GPUs; gradients of bfloat16 weights are reduced in float32 once.
    const stepSeconds = (65_536 * gpus) / tokens
    const reduced = (parameters * 4 * 2 * (gpus - 1)) / gpus
    const network = reduced / 50e9 / stepSeconds
    return [
      String(gpus),
      `${(tokens / 1e6).toFixed(2)} M`,
      `${(100 * thread).toFixed(0)} %`,
      `${(wire / 1e6).toFixed(1)} MB/s`,
      `${(gpus / 5).toFixed(0)} beats/s`,
      `${(100 * network).toFixed(0)} %`,
    ]
  })
  const head = [
    'GPUs',
    'tokens/s',
    'thread of the controller',
    'its network',
    'signs of life',
    'all-reduce at 50 GB/s, of a step',
  ]
  return [head, ...rows].map(row => `| ${row.join(' | ')} |`).join('\n')
}
