/** The programs of a device's steps: each kind of step is recorded when it first comes. */
import type { Program, Tensor } from '../../tensor/index.js'

export type StepProgram = Program<readonly ('tensor' | 'number')[], readonly Tensor[]>

export class Programs {
  private readonly known = new Map<string, StepProgram>()

  get(key: string, make: () => StepProgram): StepProgram {
    let program = this.known.get(key)
    if (!program) {
      program = make()
      this.known.set(key, program)
    }
    return program
  }

  dispose(): void {
    for (const program of this.known.values()) program.dispose()
    this.known.clear()
  }
}
