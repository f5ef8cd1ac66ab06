import { trainCommand } from './train-command.js';
import { dpoTraining } from './trainings.js';
export const { help, run } = trainCommand(dpoTraining);
//# sourceMappingURL=dpo.js.map