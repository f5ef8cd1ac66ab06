import { trainCommand } from './train-command.js';
import { sftTraining } from './trainings.js';
export const { help, run } = trainCommand(sftTraining);
//# sourceMappingURL=sft.js.map