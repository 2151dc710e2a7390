import { expect, it } from "vitest";
import { clientTypes } from "../../../scripts/clientTypes.ts";
import { openApi } from "../../../scripts/openApi.ts";

it("the types of the client are those of the schemas of the API", async () => {
  await expect(clientTypes(openApi())).toMatchFileSnapshot("../apiTypes.ts");
});
