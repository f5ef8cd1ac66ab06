/** `--device`, in a file that needs no libtorch: `reward test` runs rules on machines without it. */
import { z } from 'zod'

export const deviceFlag = z
  .string()
  .regex(/^(auto|cpu|cuda(:\d{1,3})?)$/, {
    error: ({ input }) => `expected auto, cpu, cuda or cuda:N, got "${input}"`,
  })
  .meta({ placeholder: 'DEVICE', description: 'cpu, cuda, cuda:N, or auto (a GPU if the machine has one)' })
  .default('auto')

/** `--devices`: `all`, `2`, `[0,1]` or `0,1`. */
export const devicesFlag = z
  .string()
  .regex(/^(all|\d{1,4}|\[\d+(,\d+)*\]|\d+(,\d+)+)$/, {
    error: ({ input }) => `expected all, a number, or a list of GPUs such as 0,1, got "${input}"`,
  })
  .transform(value =>
    value === 'all'
      ? value
      : (JSON.parse(value.includes(',') && !value.startsWith('[') ? `[${value}]` : value) as number | number[]),
  )
  .meta({
    placeholder: 'RANKS',
    description:
      'ranks: processes of this machine that compute together. all: one for each GPU; N: the first N GPUs, or N processes that share the cores of a CPU; a list such as 0,1: these GPUs (default: one process)',
  })
  .optional()
