import { trainCommand } from './train-command.js';
import { rlTraining } from './trainings.js';
export const { help, run } = trainCommand(rlTraining);
//# sourceMappingURL=rl.js.map